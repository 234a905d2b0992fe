"""Joint prediction with the parts of a model of trees."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from hekat.data import Table
from hekat.job.site_file import Site
from hekat.job.vertical_trees.job_file import PROTOCOL
from hekat.launch.vertical.predict import JointPredictions, PredictionWay, predict_with
from hekat.ledger import RecordedChannel
from hekat.model.answers import answers_of
from hekat.protocol.vertical.matching import MatchedTable, Matching
from hekat.protocol.vertical_trees.model_part import TreesPart
from hekat.protocol.vertical_trees.party_roles import match_and_predict
from hekat.protocol.vertical_trees.party_run import TreesRun
from hekat.protocol.vertical_trees.prediction.settings import TreePredictionSettings
from hekat.run.vertical_trees.part_file import TREE_PARTS, SavedTrees
from hekat.summary.metrics_of_outputs import metrics_of_outputs

FloatArray = npt.NDArray[np.float64]


def predict_trees_jointly(
    run_folder: Path,
    site: Site,
    data_name: str,
    receivers: Sequence[str] = (),
    *,
    timeout_s: float | None = None,
) -> JointPredictions:
    """Predict for the rows that every party of the model calls `data_name`, all parties on this machine.

    `receivers` learn the scores, the guest always: it alone where none is named. Raises StateError where parts are
    missing, and as `predict_with`.
    """
    return predict_with(trees_way(TREE_PARTS.load_all(run_folder), receivers), run_folder, site, data_name, timeout_s)


def trees_way(saved: Mapping[str, SavedTrees], receivers: Sequence[str] = ()) -> PredictionWay[TreesPart]:
    """How the parts `saved`, of all parties or of the one that plays here, predict; otherwise as
    `predict_trees_jointly`."""
    return _TreesWay(saved, TreePredictionSettings.of(next(iter(saved.values())).part, receivers))


class _TreesWay(PredictionWay[TreesPart]):
    protocol = PROTOCOL

    def __init__(self, saved: Mapping[str, SavedTrees], settings: TreePredictionSettings) -> None:
        super().__init__(saved)
        self._settings = settings

    @property
    def settings(self) -> TreePredictionSettings:
        return self._settings

    def predict(
        self, channel: RecordedChannel, name: str, table: Table, matching: Matching, count: Callable[[int], None]
    ) -> tuple[FloatArray | None, MatchedTable]:
        run = TreesRun(matching.stopwatch, count_predictions=count)
        part = self.saved[name].part
        predicted = match_and_predict(channel, part, table, self._settings, matching, lambda matched: run)
        return predicted.scores, predicted.matched

    def answers_of(self, part: TreesPart, scores: FloatArray) -> tuple[npt.NDArray[Any], FloatArray | None]:
        return answers_of(part.classes, scores)

    def metrics_of(self, part: TreesPart, scores: FloatArray, labels: npt.NDArray[Any]) -> dict[str, float]:
        return metrics_of_outputs(part.classes, scores, labels)
