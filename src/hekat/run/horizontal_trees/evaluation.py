"""Metrics of trees in training, on the test data of this machine."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from hekat.model.trees import bin_rows
from hekat.protocol.horizontal_trees.state import TreesState
from hekat.run.horizontal_trees.load_inputs import RowTreesInputs
from hekat.summary.metrics_of_outputs import metrics_of_outputs


def evaluation_of(inputs: RowTreesInputs) -> Callable[[TreesState], dict[str, float]]:
    """Metrics of a state on this machine's test data, empty where there is none."""
    test = inputs.test_table
    if test is None or test.labels is None:
        return lambda state: {}
    features, labels = np.asarray(test.features, dtype=np.float64), test.labels

    def evaluate_state(state: TreesState) -> dict[str, float]:
        scores = state.ensemble.raw_scores(bin_rows(features, state.bins)).T
        return metrics_of_outputs(inputs.job.settings.classes, scores, labels)

    return evaluate_state
