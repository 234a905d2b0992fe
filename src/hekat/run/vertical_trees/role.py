"""One role of a training of trees on its machine: how it trains, predicts, and what a report shows of its trees."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np
import numpy.typing as npt

from hekat.data import ColumnSpecs, Table
from hekat.job.vertical_trees.job_file import TreesJob
from hekat.ledger import RecordedChannel
from hekat.protocol.vertical.matching import MatchedTable
from hekat.protocol.vertical_trees.host_side.sum_memory import SUM_MEMORY_MIB
from hekat.protocol.vertical_trees.model_part import TreesPart
from hekat.protocol.vertical_trees.party_roles import match_and_predict, match_and_train
from hekat.protocol.vertical_trees.party_run import TreeRecord, TreesRun, TreeState
from hekat.protocol.vertical_trees.prediction.predict_scores import predict_scores
from hekat.run.row_identity import RowIdentity
from hekat.run.vertical.checkpoint_files import PartyCheckpoint
from hekat.run.vertical.role import ColumnsContext, ColumnsRole
from hekat.run.vertical.saved_state import SavedState
from hekat.run.vertical_trees.iterations import IterationCheckpoint
from hekat.run.vertical_trees.shown_trees import show_importance, show_trees
from hekat.scheme.paillier import KeyPair
from hekat.summary.metrics_of_outputs import metrics_of_outputs
from hekat.summary.vertical.metrics import labels_of
from hekat.summary.vertical_trees.role_result import TimedIteration, TreesResult

FloatArray = npt.NDArray[np.float64]


@dataclass(frozen=True)
class OwnTrees:
    """The run whose trees training goes on with, and this party's part of its model."""

    run_id: str
    part: TreesPart = field(repr=False)


@dataclass(frozen=True, kw_only=True)
class TreesContext(ColumnsContext):
    """What a role of a training of trees receives; `columns` describe its own columns.

    `key_pair` is a guest's own Paillier key; without one it makes a key where the protection needs it.
    `max_sum_memory_mib` bounds what a guest makes a host keep room for, by the policy of the host's site.
    """

    job: TreesJob
    resumed: IterationCheckpoint | None = None
    columns: ColumnSpecs = field(default_factory=ColumnSpecs)
    key_pair: KeyPair | None = field(default=None, repr=False)
    start: OwnTrees | None = None
    max_sum_memory_mib: int = SUM_MEMORY_MIB

    @property
    def begins_from(self) -> str | None:
        return None if self.start is None else self.start.run_id


class TreesRole(ColumnsRole[TreesPart]):
    """One role, played once over a channel; `result` holds what it left, however it ended."""

    def __init__(self, context: TreesContext) -> None:
        super().__init__(context)
        self._context = context
        self._iterations: list[TimedIteration] = []

    @property
    def result(self) -> TreesResult:
        """What the role has left so far; read it once `play` has ended."""
        resumed = self._context.resumed
        done: int = 0 if resumed is None else resumed.state.steps_done
        losses: Sequence[float] = () if resumed is None else resumed.state.losses
        part = None if self._outcome is None else self._outcome.part
        is_shown = part is not None and part.is_guest
        return TreesResult(
            **self._result_facts(done, losses),
            iterations=tuple(self._iterations),
            importance=show_importance(part, self._context.columns) if part is not None and is_shown else (),
            trees=show_trees(part, self._context.columns) if part is not None and is_shown else (),
        )

    def _train(self, channel: RecordedChannel, table: Table) -> tuple[TreesPart, MatchedTable]:
        job = self._context.job

        def begin(matched: MatchedTable) -> TreesRun:
            return self._training_run(self._begin_training(channel, matched))

        trained = match_and_train(
            channel, table, job.settings, self._matching(), begin, job.hold_out, self._own_labels()
        )
        return trained.part, trained.matched

    def _predict(self, channel: RecordedChannel, part: TreesPart, rows: Table) -> FloatArray | None:
        return predict_scores(channel, part, rows, self._context.job.prediction, self._prediction_run(part))

    def _match_and_predict(
        self, channel: RecordedChannel, part: TreesPart, table: Table
    ) -> tuple[FloatArray | None, MatchedTable]:
        def begin(matched: MatchedTable) -> TreesRun:
            self._note_matched(matched)
            return self._prediction_run(part)

        predicted = match_and_predict(channel, part, table, self._context.job.prediction, self._matching(), begin)
        return predicted.scores, predicted.matched

    def _measure_scores(self, scores: FloatArray, test_rows: Table) -> dict[str, float]:
        classes = self._context.job.settings.classes
        return metrics_of_outputs(classes, scores, labels_of(test_rows, classes))

    def _prediction_run(self, part: TreesPart) -> TreesRun:
        return TreesRun(self._stopwatch, count_predictions=partial(self._context.count_predictions, part))

    def _training_run(self, identity: RowIdentity) -> TreesRun:
        context = self._context
        earlier, before = context.resumed, None if context.start is None else context.start.part

        def save(state: TreeState) -> None:
            saved = SavedState.of(state, state.trees_done)
            kept = PartyCheckpoint(saved, identity, self._kept_releases(), context.started_from)
            context.observer.save(context.role, kept)

        def note(record: TreeRecord) -> None:
            self._iterations.append(TimedIteration(record, self._end_step(record)))

        run = TreesRun(
            stopwatch=self._stopwatch,
            on_tree=note,
            save=save,
            resume_from=None if earlier is None else restore_state(earlier.state),
            start_from=before,
            key_pair=context.key_pair,
            max_sum_memory_mib=context.max_sum_memory_mib,
        )
        # The scores that training goes on from are a prediction of its rows with the earlier part.
        return run if before is None else replace(run, count_predictions=partial(context.count_predictions, before))


def restore_state(saved: SavedState) -> TreeState:
    """The state that a checkpoint holds."""
    return TreeState(trees_done=saved.steps_done, **saved.restore())
