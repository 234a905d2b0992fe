"""One role of a vertical regression on its machine: how it trains, and predicts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from hekat.data import Table
from hekat.job.vertical_linear.job_file import VerticalJob
from hekat.ledger import RecordedChannel
from hekat.protocol.vertical.matching import MatchedTable
from hekat.protocol.vertical_linear.exactness_check import ExactnessCheck
from hekat.protocol.vertical_linear.model_part import ModelPart
from hekat.protocol.vertical_linear.party_roles import match_and_predict, match_and_train
from hekat.protocol.vertical_linear.party_run import EpochRecord, PartState, PartyRun
from hekat.protocol.vertical_linear.prediction.predict_scores import predict_scores
from hekat.protocol.vertical_linear.roles import run_role
from hekat.run.row_identity import RowIdentity
from hekat.run.vertical.checkpoint_files import PartyCheckpoint
from hekat.run.vertical.role import ColumnsContext, ColumnsRole
from hekat.run.vertical_linear.epochs import EpochCheckpoint
from hekat.scheme.paillier import KeyPair
from hekat.summary.vertical.metrics import labels_of
from hekat.summary.vertical_linear.metrics_of_scores import metrics_of_scores
from hekat.summary.vertical_linear.role_result import TimedEpoch, VerticalResult

FloatArray = npt.NDArray[np.float64]


@dataclass(frozen=True)
class OwnStart:
    """The run whose weights training begins with, and this party's of them: ModelPart.arrays, None at an arbiter."""

    run_id: str
    arrays: Mapping[str, npt.NDArray[Any]] | None = field(repr=False)


@dataclass(frozen=True, kw_only=True)
class VerticalContext(ColumnsContext):
    """What a role of a regression receives besides. `key_pair` is the pair of a role that makes one, which makes it
    itself without one. `exactness_check` compares the values of all parties, so it exists where one process plays them
    all."""

    job: VerticalJob
    resumed: EpochCheckpoint | None = None
    key_pair: KeyPair | None = field(default=None, repr=False)
    start: OwnStart | None = None
    exactness_check: ExactnessCheck | None = None

    @property
    def begins_from(self) -> str | None:
        return None if self.start is None else self.start.run_id


class VerticalRole(ColumnsRole[ModelPart]):
    """One role, played once over a channel; `result` holds what it left, however it ended."""

    def __init__(self, context: VerticalContext) -> None:
        super().__init__(context)
        self._context = context
        self._epochs: list[TimedEpoch] = []

    @property
    def result(self) -> VerticalResult:
        """What the role has left so far; read it once `play` has ended."""
        resumed = self._context.resumed
        done, losses = (0, ()) if resumed is None else (resumed.state.epochs_done, resumed.state.losses)
        return VerticalResult(**self._result_facts(done, losses), epochs=tuple(self._epochs))

    def _train(self, channel: RecordedChannel, table: Table) -> tuple[ModelPart, MatchedTable]:
        job = self._context.job

        def begin(matched: MatchedTable) -> PartyRun:
            return self._party_run(self._begin_training(channel, matched))

        trained = match_and_train(
            channel,
            table,
            job.settings,
            self._matching(),
            begin,
            job.hold_out,
            job.prediction.score_bits,
            self._own_labels(),
        )
        return trained.part, trained.matched

    def _play_without_rows(self, channel: RecordedChannel) -> None:
        run_role(channel, None, self._context.job.settings, self._party_run(None))

    def _predict(self, channel: RecordedChannel, part: ModelPart, rows: Table) -> FloatArray | None:
        return predict_scores(channel, part, rows, self._context.job.prediction, self._prediction_run(part))

    def _match_and_predict(
        self, channel: RecordedChannel, part: ModelPart, table: Table
    ) -> tuple[FloatArray | None, MatchedTable]:
        def begin(matched: MatchedTable) -> PartyRun:
            self._note_matched(matched)
            return self._prediction_run(part)

        makes_key = part.needs_key and self._context.key_pair is None
        predicted = match_and_predict(
            channel, part, table, self._context.job.prediction, self._matching(), begin, makes_key=makes_key
        )
        return predicted.scores, predicted.matched

    def _measure_scores(self, scores: FloatArray, test_rows: Table) -> dict[str, float]:
        classes = self._context.job.settings.classes
        return metrics_of_scores(classes, scores, labels_of(test_rows, classes))

    def _prediction_run(self, part: ModelPart) -> PartyRun:
        count = partial(self._context.count_predictions, part)
        return PartyRun(self._stopwatch, key_pair=self._context.key_pair, count_predictions=count)

    def _party_run(self, identity: RowIdentity | None) -> PartyRun:
        context = self._context
        earlier = context.resumed

        def save(state: PartState) -> None:
            if identity is None:
                return
            limit = context.job.settings.limit_spreads
            kept = PartyCheckpoint(state, identity, self._kept_releases(), context.started_from, limit)
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
        self._epochs.append(TimedEpoch(record, self._end_step(record)))


def copy_state(state: PartState) -> PartState:
    """A state of one's own: a party changes its arrays by itself."""
    arrays: dict[str, npt.NDArray[Any]] = {name: values.copy() for name, values in state.arrays.items()}
    return PartState(arrays, state.epochs_done, state.finished, state.losses)
