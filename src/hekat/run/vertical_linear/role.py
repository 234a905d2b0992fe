"""One role of a vertical run on its machine: rows are matched, trained on and, where asked, predicted for.

Both protocols share one sealed session, and so one ledger a role: what it learned of rows stands beside what it learned
of labels.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from hekat.channel import Channel
from hekat.data import Table
from hekat.data.repeated_rows import count_repeated
from hekat.errors import StateError
from hekat.job.vertical_linear.job_file import VerticalJob
from hekat.ledger import RecordedChannel
from hekat.protocol.role_session import RoleSession
from hekat.protocol.stopwatch import Stopwatch
from hekat.protocol.vertical.matching import MatchedTable, Matching
from hekat.protocol.vertical.phases import PREDICTION
from hekat.protocol.vertical_linear.exactness_check import ExactnessCheck
from hekat.protocol.vertical_linear.model_part import ModelPart
from hekat.protocol.vertical_linear.party_roles import match_and_predict, match_and_train
from hekat.protocol.vertical_linear.party_run import EpochRecord, PartState, PartyRun
from hekat.protocol.vertical_linear.prediction.predict_scores import predict_scores
from hekat.protocol.vertical_linear.roles import run_role
from hekat.run.row_identity import RowIdentity
from hekat.run.vertical_linear.checkpoint_files import PartyCheckpoint
from hekat.run.vertical_linear.load_inputs import check_enough
from hekat.scheme.paillier import KeyPair
from hekat.summary.vertical_linear.metrics_of_scores import labels_of, metrics_of_scores
from hekat.summary.vertical_linear.role_result import Match, ResumedPart, TableFacts, TimedEpoch, VerticalResult
from hekat.summary.vertical_linear.traffic import role_traffic_of

FloatArray = npt.NDArray[np.float64]


class VerticalObserver:
    """Told of a role's progress, in the thread that plays it. This one keeps nothing."""

    def note_matching(self, role: str, work: str, done: int, total: int) -> None:
        """How far the role is with matching rows; called from any thread."""

    def note_common(self, role: str, count: int) -> None:
        """Rows are matched: training begins, or in the end prediction."""

    def note_epoch(self, role: str, record: EpochRecord) -> None:
        """An epoch has ended at the role."""

    def save(self, role: str, kept: PartyCheckpoint) -> None:
        """Keep what the party goes on from after a stop."""

    def save_part(self, part: ModelPart) -> None:
        """Keep the party's part of the trained model."""


@dataclass(frozen=True)
class OwnStart:
    """The run whose weights training begins with, and this party's of them: ModelPart.arrays, None at an arbiter."""

    run_id: str
    arrays: Mapping[str, npt.NDArray[Any]] | None = field(repr=False)


@dataclass(frozen=True)
class VerticalContext:
    """Everything that one role receives; about other roles it holds only names and public keys.

    `table` and `test_table` are a party's own, before rows are matched. `key_pair` is the pair of a role that makes
    one, which makes it itself without one. `count_predictions` counts rows that are predicted with the part and refuses
    them. `exactness_check` compares the values of all parties, so it exists where one process plays them all.
    """

    job: VerticalJob
    role: str
    session: RoleSession
    table: Table | None = None
    test_table: Table | None = None
    key_pair: KeyPair | None = field(default=None, repr=False)
    resumed: PartyCheckpoint | None = None
    start: OwnStart | None = None
    observer: VerticalObserver = field(default_factory=VerticalObserver)
    count_predictions: Callable[[ModelPart, int], None] = lambda part, row_count: None
    exactness_check: ExactnessCheck | None = None

    @property
    def started_from(self) -> str | None:
        """The run whose weights training began with, also where it began in the run that is resumed."""
        if self.start is not None:
            return self.start.run_id
        return None if self.resumed is None else self.resumed.started_from


@dataclass(frozen=True)
class PartyOutcome:
    """The outcome at guest or host. `rows` and `test_rows` are the rows of its own tables that all parties have, in the
    order common to all; `scores` (test rows, K) are the receivers' alone."""

    part: ModelPart
    rows: Table = field(repr=False)
    test_rows: Table | None = field(repr=False)
    scores: FloatArray | None = field(repr=False)


class VerticalRole:
    """One role, played once over a channel; `result` holds what it left, however it ended."""

    def __init__(self, context: VerticalContext) -> None:
        self._context, self._stopwatch = context, context.session.stopwatch
        self._phases = Stopwatch()
        self._matches: list[Match] = []
        self._epochs: list[TimedEpoch] = []
        self._outcome: PartyOutcome | None = None
        self._last = self._seconds = 0.0

    def play(self, channel: Channel) -> PartyOutcome | None:
        """The outcome at guest or host; None at an arbiter. Raises what the role raises."""
        start = self._last = time.perf_counter()
        try:
            self._outcome = self._context.session.play(channel, self._run, counts_rounds=False)
        finally:
            self._seconds = time.perf_counter() - start
        return self._outcome

    @property
    def result(self) -> VerticalResult:
        """What the role has left so far; read it once `play` has ended."""
        context = self._context
        resumed = context.resumed
        return VerticalResult(
            role=context.role,
            seconds=self._seconds,
            seconds_by_step=dict(self._stopwatch.seconds),
            seconds_by_phase=dict(self._phases.seconds),
            traffic=role_traffic_of(context.session),
            table=self._describe_tables(),
            matches=tuple(self._matches),
            class_rows=self._count_classes(),
            epochs=tuple(self._epochs),
            metrics=self._measure(),
            resumed=None
            if resumed is None
            else ResumedPart(resumed.state.epochs_done, tuple(resumed.state.losses), tuple(resumed.releases)),
            started_from=context.started_from,
        )

    def _run(self, channel: RecordedChannel) -> PartyOutcome | None:
        context, job = self._context, self._context.job
        if context.table is None:
            run_role(channel, None, job.settings, self._party_run(None))
            return None
        begin = partial(self._begin_training, channel)
        trained = match_and_train(
            channel, context.table, job.settings, self._matching(), begin, job.hold_out, job.prediction.score_bits
        )
        part, rows = trained.part, trained.matched.table
        context.observer.save_part(part)
        held_out = trained.matched.held_out
        if held_out is not None:
            self._matches.append(Match(len(held_out), 0.0))
            run = self._prediction_run(part)
            with self._phases.measure(PREDICTION):
                scores = predict_scores(channel, part, held_out, job.prediction, run)
            return PartyOutcome(part, rows, held_out, scores)
        if context.test_table is None:
            return PartyOutcome(part, rows, None, None)

        def begin_prediction(matched: MatchedTable) -> PartyRun:
            self._note_matched(matched)
            return self._prediction_run(part)

        makes_key = part.needs_key and context.key_pair is None
        predicted = match_and_predict(
            channel, part, context.test_table, job.prediction, self._matching(), begin_prediction, makes_key=makes_key
        )
        return PartyOutcome(part, rows, predicted.matched.table, predicted.scores)

    def _prediction_run(self, part: ModelPart) -> PartyRun:
        count = partial(self._context.count_predictions, part)
        return PartyRun(self._stopwatch, key_pair=self._context.key_pair, count_predictions=count)

    def _matching(self) -> Matching:
        context = self._context
        report = partial(context.observer.note_matching, context.role)
        return Matching(context.job.intersection, self._stopwatch, self._phases, report)

    def _begin_training(self, channel: RecordedChannel, matched: MatchedTable) -> PartyRun:
        self._note_matched(matched)
        check_enough(matched.table)
        identity = self._identify(matched.table)
        self._note_start(channel)
        self._last = time.perf_counter()
        return self._party_run(identity)

    def _note_matched(self, matched: MatchedTable) -> None:
        self._matches.append(Match(matched.common_count, matched.seconds))
        self._context.observer.note_common(self._context.role, matched.common_count)

    def _identify(self, rows: Table) -> RowIdentity:
        """The identity of the rows to train on. Raises StateError where a resumed run trained on others."""
        earlier = self._context.resumed
        if earlier is None:
            return RowIdentity.of(rows)
        if not earlier.rows.fits(rows):
            raise StateError(
                f"the resumed run trained on other rows of {self._context.role}",
                expected="the same common rows with the same values, in the same order",
                got=f"{len(rows):,} rows that differ",
                cure="put the data of every party back as it was, or begin a new run",
            )
        return earlier.rows

    def _note_start(self, channel: RecordedChannel) -> None:
        context = self._context
        if context.started_from is not None:
            verb = "starts" if context.start is not None else "goes on with a training that started"
            channel.ledger.note("setup", f"{verb} from its part of run {context.started_from}", "public")

    def _party_run(self, identity: RowIdentity | None) -> PartyRun:
        context = self._context
        earlier = context.resumed

        def save(state: PartState) -> None:
            if identity is None:
                return
            releases = () if earlier is None else earlier.releases
            kept = PartyCheckpoint(state, identity, releases, context.started_from, context.job.settings.limit_spreads)
            context.observer.save(context.role, kept)

        return PartyRun(
            stopwatch=self._stopwatch,
            on_epoch=self._note_epoch,
            save=save,
            resume_from=None if earlier is None else copy_state(earlier.state),
            start_from=None if context.start is None else context.start.arrays,
            key_pair=context.key_pair,
            count_calibration=context.count_predictions,
            exactness_check=context.exactness_check,
        )

    def _note_epoch(self, record: EpochRecord) -> None:
        now = time.perf_counter()
        self._epochs.append(TimedEpoch(record, now - self._last))
        self._last = now
        self._context.observer.note_epoch(self._context.role, record)

    def _describe_tables(self) -> TableFacts | None:
        table, test = self._context.table, self._context.test_table
        if table is None:
            return None
        columns = int(table.features.shape[1])
        trained_on = self._count_trained_on()
        test_rows = None if test is None else len(test)
        if self._context.job.hold_out and self._outcome is not None and self._outcome.test_rows is not None:
            test_rows = len(self._outcome.test_rows)
        return TableFacts(len(table), columns, test_rows, tuple(table.notes), trained_on)

    def _count_trained_on(self) -> int:
        """How many of the common test rows are training rows, at a guest that measures on them."""
        job, outcome = self._context.job, self._outcome
        if outcome is None or outcome.test_rows is None or self._context.role != job.settings.guest:
            return 0
        if job.test_data == job.data:
            return len(outcome.test_rows)
        return count_repeated(outcome.test_rows, [outcome.rows])

    def _count_classes(self) -> dict[str, int] | None:
        settings, outcome = self._context.job.settings, self._outcome
        if settings.classes is None or outcome is None or self._context.role != settings.guest:
            return None
        counts = Counter(labels_of(outcome.rows, settings.classes).tolist())
        return {label: counts.get(number, 0) for number, label in enumerate(settings.classes)}

    def _measure(self) -> dict[str, float]:
        """Metrics at a guest that received scores."""
        settings, outcome = self._context.job.settings, self._outcome
        if outcome is None or self._context.role != settings.guest:
            return {}
        if outcome.test_rows is None or outcome.scores is None:
            return {}
        return metrics_of_scores(settings.classes, outcome.scores, labels_of(outcome.test_rows, settings.classes))


def copy_state(state: PartState) -> PartState:
    """A state of one's own: a party changes its arrays by itself."""
    arrays: dict[str, npt.NDArray[Any]] = {name: values.copy() for name, values in state.arrays.items()}
    return PartState(arrays, state.epochs_done, state.finished, state.losses)
