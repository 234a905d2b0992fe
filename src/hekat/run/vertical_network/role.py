"""One role of a training of a split network on its machine: how it trains, and predicts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np
import numpy.typing as npt

from hekat.data import Table
from hekat.job.vertical_network.job_file import NetworkJob
from hekat.ledger import RecordedChannel
from hekat.protocol.vertical.matching import MatchedTable
from hekat.protocol.vertical_network.model_part import NetworkPart
from hekat.protocol.vertical_network.party_roles import match_and_predict, match_and_train
from hekat.protocol.vertical_network.party_run import NetworkRecord, NetworkRun, NetworkState
from hekat.protocol.vertical_network.prediction.predict_scores import predict_scores
from hekat.run.row_identity import RowIdentity
from hekat.run.vertical.checkpoint_files import PartyCheckpoint
from hekat.run.vertical.role import ColumnsContext, ColumnsRole
from hekat.run.vertical.saved_state import SavedState
from hekat.run.vertical_network.epochs import NetworkCheckpoint
from hekat.run.vertical_network.own_bottom import OwnBottom
from hekat.run.vertical_network.own_top import OwnTop
from hekat.summary.metrics_of_outputs import metrics_of_outputs
from hekat.summary.vertical.metrics import labels_of
from hekat.summary.vertical_network.role_result import NetworkResult, TimedEpoch

FloatArray = npt.NDArray[np.float64]


@dataclass(frozen=True)
class OwnNetwork:
    """The run whose network training goes on with, and this party's part of it."""

    run_id: str
    part: NetworkPart = field(repr=False)


@dataclass(frozen=True, kw_only=True)
class NetworkContext(ColumnsContext):
    """What a role of a training of a split network receives.

    `bottom` makes the party's map of its columns, `top` the guest's top.
    """

    job: NetworkJob
    resumed: NetworkCheckpoint | None = None
    start: OwnNetwork | None = None
    bottom: OwnBottom = field(default_factory=OwnBottom)
    top: OwnTop = field(default_factory=OwnTop)

    @property
    def begins_from(self) -> str | None:
        return None if self.start is None else self.start.run_id

    @property
    def code(self) -> str:
        return " ".join(code for code in (self.bottom.code, self.top.code) if code)


class NetworkRole(ColumnsRole[NetworkPart]):
    """One role, played once over a channel; `result` holds what it left, however it ended."""

    def __init__(self, context: NetworkContext) -> None:
        super().__init__(context)
        self._context = context
        self._epochs: list[TimedEpoch] = []

    @property
    def result(self) -> NetworkResult:
        """What the role has left so far; read it once `play` has ended."""
        resumed = self._context.resumed
        done: int = 0 if resumed is None else resumed.state.steps_done
        losses: Sequence[float] = () if resumed is None else resumed.state.losses
        part = None if self._outcome is None else self._outcome.part
        return NetworkResult(
            **self._result_facts(done, losses),
            epochs=tuple(self._epochs),
            bottom_kind=None if part is None else part.bottom_kind,
            bottom_code=self._context.bottom.code,
            top_kind=None if part is None else part.top_kind,
            top_code=self._context.top.code,
            widths={} if part is None else dict(part.widths),
        )

    def _train(self, channel: RecordedChannel, table: Table) -> tuple[NetworkPart, MatchedTable]:
        job = self._context.job

        def begin(matched: MatchedTable) -> NetworkRun:
            return self._training_run(self._begin_training(channel, matched))

        trained = match_and_train(channel, table, job.settings, self._matching(), begin, job.hold_out)
        return trained.part, trained.matched

    def _predict(self, channel: RecordedChannel, part: NetworkPart, rows: Table) -> FloatArray | None:
        return predict_scores(channel, part, rows, self._context.job.prediction, self._prediction_run(part))

    def _match_and_predict(
        self, channel: RecordedChannel, part: NetworkPart, table: Table
    ) -> tuple[FloatArray | None, MatchedTable]:
        def begin(matched: MatchedTable) -> NetworkRun:
            self._note_matched(matched)
            return self._prediction_run(part)

        predicted = match_and_predict(channel, part, table, self._context.job.prediction, self._matching(), begin)
        return predicted.scores, predicted.matched

    def _measure_scores(self, scores: FloatArray, test_rows: Table) -> dict[str, float]:
        classes = self._context.job.settings.classes
        return metrics_of_outputs(classes, scores, labels_of(test_rows, classes))

    def _base_run(self) -> NetworkRun:
        context = self._context
        return NetworkRun(
            self._stopwatch, make_bottom=context.bottom.make, make_top=context.top.make, warn=self._warnings.append
        )

    def _prediction_run(self, part: NetworkPart) -> NetworkRun:
        return replace(self._base_run(), count_predictions=partial(self._context.count_predictions, part))

    def _training_run(self, identity: RowIdentity) -> NetworkRun:
        context = self._context
        earlier = context.resumed

        def save(state: NetworkState) -> None:
            saved = SavedState.of(state, state.epochs_done)
            kept = PartyCheckpoint(saved, identity, self._kept_releases(), context.started_from, code=context.code)
            context.observer.save(context.role, kept)

        return replace(
            self._base_run(),
            on_epoch=self._note_epoch,
            own_labels=self._own_labels(),
            save=save,
            resume_from=None if earlier is None else restore_state(earlier.state),
            start_from=None if context.start is None else context.start.part,
        )

    def _note_epoch(self, record: NetworkRecord) -> None:
        self._epochs.append(TimedEpoch(record, self._end_step(record)))


def restore_state(saved: SavedState) -> NetworkState:
    """The state that a checkpoint holds."""
    return NetworkState(epochs_done=saved.steps_done, **saved.restore())
