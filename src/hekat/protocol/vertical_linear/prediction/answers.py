"""What a score says: the class with its probabilities, or the number itself."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import expit

FloatArray = npt.NDArray[np.float64]


def answers_of(classes: Sequence[str] | None, scores: FloatArray) -> tuple[npt.NDArray[Any], FloatArray | None]:
    """Of `scores` (rows, K): the class numbers (rows,) int64 with probabilities (rows, classes) of a classification;
    of a regression (`classes` None) the numbers (rows,) float64, and None.

    Of two classes the one score is of the second; of more, each class has its own score against all others.
    """
    if classes is None:
        return scores[:, 0].copy(), None
    probabilities = probabilities_of(scores)
    numbers = scores.argmax(axis=1) if scores.shape[1] > 1 else scores[:, 0] > 0
    return numbers.astype(np.int64), probabilities


def probabilities_of(scores: FloatArray) -> FloatArray:
    """Sigmoids of `scores` (rows, K): of one score the pair 1 - p, p; of more, normalised to add up to 1 in a row."""
    each: FloatArray = expit(scores)
    if scores.shape[1] == 1:
        return np.hstack([expit(-scores), each])
    total = each.sum(axis=1, keepdims=True)
    # Where every class is so unlikely that its sigmoid is 0, none is likelier than another.
    shares: FloatArray = np.divide(each, total, out=np.full_like(each, 1 / each.shape[1]), where=total > 0)
    return shares
