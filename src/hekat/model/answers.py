"""What raw outputs of a model mean, sums of leaves or a last layer: classes with probabilities, or numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from hekat.model.trees.objective import make_objective

FloatArray = npt.NDArray[np.float64]


def answers_of(classes: Sequence[str] | None, scores: FloatArray) -> tuple[npt.NDArray[Any], FloatArray | None]:
    """The answers that `scores` (rows, K) give.

    A classification gives class numbers (rows,) int64 and probabilities (rows, classes); a regression (`classes` None)
    gives numbers (rows,) float64, and None.
    """
    answers = make_objective(0 if classes is None else len(classes)).predict(scores.T)
    if classes is None:
        return answers, None
    return answers.argmax(axis=1).astype(np.int64), answers
