"""How good a model's raw outputs are, of rows whose labels are known: sums of leaves, or a network's last layer."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from hekat.model import evaluate_numbers, evaluate_probabilities
from hekat.model.answers import answers_of

FloatArray = npt.NDArray[np.float64]


def metrics_of_outputs(
    classes: tuple[str, ...] | None, scores: FloatArray, labels: npt.NDArray[Any]
) -> dict[str, float]:
    """Of raw `scores` (rows, K): "accuracy", "log_loss", "auc" against class numbers; "rmse", "r2" of numbers."""
    answers, probabilities = answers_of(classes, scores)
    if probabilities is None:
        return evaluate_numbers(answers, labels)
    return evaluate_probabilities(probabilities, labels)
