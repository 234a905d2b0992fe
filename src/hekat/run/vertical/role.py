"""One role of a run on columns on its machine: rows are matched, trained on and, where asked, predicted for.

All of it shares one sealed session, and so one ledger a role: what it learned of rows stands beside what it learned of
labels. A protocol says how a role trains and predicts.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Generic, TypeVar

import numpy as np
import numpy.typing as npt

from hekat.channel import Channel
from hekat.data import Table
from hekat.data.repeated_rows import count_repeated
from hekat.errors import StateError
from hekat.job.policy.exact_sums import record_waiver
from hekat.job.vertical.columns_job import ColumnsJob
from hekat.ledger import RecordedChannel
from hekat.protocol.role_session import RoleSession
from hekat.protocol.stopwatch import Stopwatch
from hekat.protocol.vertical.label_privacy import OwnLabels
from hekat.protocol.vertical.matching import MatchedTable, Matching
from hekat.protocol.vertical.phases import PREDICTION
from hekat.run.row_identity import RowIdentity
from hekat.run.vertical.checkpoint_files import PartyCheckpoint
from hekat.run.vertical.party_tables import check_enough
from hekat.summary.vertical.metrics import labels_of
from hekat.summary.vertical.role_result import ColumnsResult, Match, ResumedPart, TableFacts
from hekat.summary.vertical.traffic import role_traffic_of

FloatArray = npt.NDArray[np.float64]
P = TypeVar("P")


class ColumnsObserver:
    """Told of a role's progress, in the thread that plays it. This one keeps nothing."""

    def note_matching(self, role: str, work: str, done: int, total: int) -> None:
        """How far the role is with matching rows; called from any thread."""

    def note_common(self, role: str, count: int) -> None:
        """Rows are matched: training begins, or in the end prediction."""

    def note_step(self, role: str, record: Any) -> None:
        """An epoch, or an iteration of trees, has ended at the role."""

    def save(self, role: str, kept: PartyCheckpoint[Any]) -> None:
        """Keep what the party goes on from after a stop."""

    def save_part(self, part: Any) -> None:
        """Keep the party's part of the trained model."""


@dataclass(frozen=True, kw_only=True)
class ColumnsContext:
    """Everything that one role receives; about other roles it holds only names and public keys.

    `table` and `test_table` are a party's own, before rows are matched. `count_predictions` counts rows that are
    predicted with a part of a model, and refuses them. `own_labels` is what a guest's site keeps of its labels, for
    label privacy.
    """

    job: ColumnsJob
    role: str
    session: RoleSession
    table: Table | None = None
    test_table: Table | None = None
    resumed: PartyCheckpoint[Any] | None = None
    observer: ColumnsObserver = field(default_factory=ColumnsObserver)
    count_predictions: Callable[[Any, int], None] = lambda part, row_count: None
    own_labels: OwnLabels | None = None

    @property
    def begins_from(self) -> str | None:
        """The run whose model this run's training begins with; None where it begins with none, or is resumed."""
        return None

    @property
    def code(self) -> str:
        """SHA-256 (hex) of each file of the site whose code makes what this role trains; empty where none does."""
        return ""

    @property
    def started_from(self) -> str | None:
        """The run whose model training began with, also where it began in the run that is resumed."""
        if self.begins_from is not None:
            return self.begins_from
        return None if self.resumed is None else self.resumed.started_from


@dataclass(frozen=True)
class PartyOutcome(Generic[P]):
    """The outcome at guest or host. `rows` and `test_rows` are the rows of its own tables that all parties have, in the
    order common to all; `scores` (test rows, K) are the receivers' alone."""

    part: P
    rows: Table = field(repr=False)
    test_rows: Table | None = field(repr=False)
    scores: FloatArray | None = field(repr=False)


class ColumnsRole(ABC, Generic[P]):
    """One role, played once over a channel; its protocol's subclass trains and predicts."""

    def __init__(self, context: ColumnsContext) -> None:
        self._shared, self._stopwatch = context, context.session.stopwatch
        self._phases = Stopwatch()
        self._matches: list[Match] = []
        self._outcome: PartyOutcome[P] | None = None
        self._last = self._seconds = 0.0
        self._warnings: list[str] = []

    def play(self, channel: Channel) -> PartyOutcome[P] | None:
        """The outcome at guest or host; None at a role without rows. Raises what the role raises."""
        start = self._last = time.perf_counter()
        try:
            self._outcome = self._shared.session.play(channel, self._run, counts_rounds=False)
        finally:
            self._seconds = time.perf_counter() - start
        return self._outcome

    @property
    @abstractmethod
    def result(self) -> ColumnsResult:
        """What the role has left so far; read it once `play` has ended."""

    @abstractmethod
    def _train(self, channel: RecordedChannel, table: Table) -> tuple[P, MatchedTable]:
        """Match the rows of `table` and train on them; calls `_begin_training` in between."""

    @abstractmethod
    def _predict(self, channel: RecordedChannel, part: P, rows: Table) -> FloatArray | None:
        """The scores of common rows at a receiver; None elsewhere."""

    @abstractmethod
    def _match_and_predict(
        self, channel: RecordedChannel, part: P, table: Table
    ) -> tuple[FloatArray | None, MatchedTable]:
        """Match the rows of `table` and predict them; calls `_note_matched` in between."""

    @abstractmethod
    def _measure_scores(self, scores: FloatArray, test_rows: Table) -> dict[str, float]:
        """Metrics of the test rows' scores, at the guest."""

    def _play_without_rows(self, channel: RecordedChannel) -> None:
        raise NotImplementedError("a role without rows")

    def _run(self, channel: RecordedChannel) -> PartyOutcome[P] | None:
        context = self._shared
        if context.table is None:
            self._play_without_rows(channel)
            return None
        record_waiver(channel.ledger, context.table)
        part, matched = self._train(channel, context.table)
        context.observer.save_part(part)
        rows, held_out = matched.table, matched.held_out
        if held_out is not None:
            self._matches.append(Match(len(held_out), 0.0))
            with self._phases.measure(PREDICTION):
                scores = self._predict(channel, part, held_out)
            return PartyOutcome(part, rows, held_out, scores)
        if context.test_table is None:
            return PartyOutcome(part, rows, None, None)
        scores, tested = self._match_and_predict(channel, part, context.test_table)
        return PartyOutcome(part, rows, tested.table, scores)

    def _matching(self) -> Matching:
        context = self._shared
        report = partial(context.observer.note_matching, context.role)
        return Matching(context.job.intersection, self._stopwatch, self._phases, report)

    def _begin_training(self, channel: RecordedChannel, matched: MatchedTable) -> RowIdentity:
        """Refuse rows that cannot be trained on, and rows or code that a resumed run did not train; the rows'
        identity."""
        self._note_matched(matched)
        check_enough(matched.table)
        self._check_code()
        identity = self._identify(matched.table)
        context = self._shared
        if context.started_from is not None:
            verb = "starts" if context.begins_from is not None else "goes on with a training that started"
            channel.ledger.note("setup", f"{verb} from its part of run {context.started_from}", "public")
        self._last = time.perf_counter()
        return identity

    def _own_labels(self) -> OwnLabels | None:
        """The guest's own labels, with this role's list of warnings."""
        own = self._shared.own_labels
        return None if own is None else replace(own, warn=self._warnings.append)

    def _note_matched(self, matched: MatchedTable) -> None:
        self._matches.append(Match(matched.common_count, matched.seconds))
        self._shared.observer.note_common(self._shared.role, matched.common_count)

    def _identify(self, rows: Table) -> RowIdentity:
        """The identity of the rows to train on. Raises StateError where a resumed run trained on others."""
        earlier = self._shared.resumed
        if earlier is None:
            return RowIdentity.of(rows)
        if not earlier.rows.fits(rows):
            raise StateError(
                f"the resumed run trained on other rows of {self._shared.role}",
                expected="the same common rows with the same values, in the same order",
                got=f"{len(rows):,} rows that differ",
                cure="put the data of every party back as it was, or begin a new run",
            )
        return earlier.rows

    def _check_code(self) -> None:
        """Raise StateError where a resumed run trained what other code had made."""
        earlier, code = self._shared.resumed, self._shared.code
        if earlier is not None and earlier.code != code:
            raise StateError(
                f"the resumed run trained what other code of {self._shared.role}'s site had made",
                expected=f"files of SHA-256 {earlier.code}" if earlier.code else "no code of the site's own",
                got=f"SHA-256 {code}" if code else "none",
                cure="put the site's files back as they were, byte for byte, or begin a new run",
            )

    def _kept_releases(self) -> tuple[str, ...]:
        """The releases of Hekat that trained the resumed part, if there is one."""
        earlier = self._shared.resumed
        return () if earlier is None else earlier.releases

    def _end_step(self, record: Any) -> float:
        """Pass an epoch or iteration on; the seconds since the last one ended, or training began."""
        now = time.perf_counter()
        seconds, self._last = now - self._last, now
        self._shared.observer.note_step(self._shared.role, record)
        return seconds

    def _result_facts(self, steps_done: int, losses: Sequence[float]) -> dict[str, Any]:
        """What `ColumnsResult` takes; `steps_done` and `losses` are of the resumed run, if there is one."""
        context = self._shared
        resumed = context.resumed
        return {
            "role": context.role,
            "seconds": self._seconds,
            "seconds_by_step": dict(self._stopwatch.seconds),
            "seconds_by_phase": dict(self._phases.seconds),
            "traffic": role_traffic_of(context.session),
            "table": self._describe_tables(),
            "matches": tuple(self._matches),
            "class_rows": self._count_classes(),
            "metrics": self._measure(),
            "resumed": None if resumed is None else ResumedPart(steps_done, tuple(losses), tuple(resumed.releases)),
            "started_from": context.started_from,
            "warnings": tuple(self._warnings),
        }

    def _describe_tables(self) -> TableFacts | None:
        table, test = self._shared.table, self._shared.test_table
        if table is None:
            return None
        columns = int(table.features.shape[1])
        trained_on = self._count_trained_on()
        test_rows = None if test is None else len(test)
        if self._shared.job.hold_out and self._outcome is not None and self._outcome.test_rows is not None:
            test_rows = len(self._outcome.test_rows)
        return TableFacts(len(table), columns, test_rows, tuple(table.notes), trained_on)

    def _count_trained_on(self) -> int:
        """How many of the common test rows are training rows, at a guest that measures on them."""
        job, outcome = self._shared.job, self._outcome
        if outcome is None or outcome.test_rows is None or self._shared.role != job.settings.guest:
            return 0
        if job.test_data == job.data:
            return len(outcome.test_rows)
        return count_repeated(outcome.test_rows, [outcome.rows])

    def _count_classes(self) -> dict[str, int] | None:
        settings, outcome = self._shared.job.settings, self._outcome
        if settings.classes is None or outcome is None or self._shared.role != settings.guest:
            return None
        counts = Counter(labels_of(outcome.rows, settings.classes).tolist())
        return {label: counts.get(number, 0) for number, label in enumerate(settings.classes)}

    def _measure(self) -> dict[str, float]:
        """Metrics at a guest that received scores."""
        outcome = self._outcome
        if outcome is None or self._shared.role != self._shared.job.settings.guest:
            return {}
        if outcome.test_rows is None or outcome.scores is None:
            return {}
        return self._measure_scores(outcome.scores, outcome.test_rows)
