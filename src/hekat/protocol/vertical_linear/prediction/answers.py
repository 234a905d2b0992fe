"""What scores mean: classes with their probabilities, or numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.float64]


def answers_of(classes: Sequence[str] | None, scores: FloatArray) -> tuple[npt.NDArray[Any], FloatArray | None]:
    """The answers that `scores` (rows, K) give.

    A classification gives class numbers (rows,) int64 and probabilities (rows, classes); a regression (`classes` None)
    gives numbers (rows,) float64, and None. Two classes share one score, of the second class; of more classes each has
    its own score against all others.
    """
    if classes is None:
        return scores[:, 0].copy(), None
    probabilities = probabilities_of(scores)
    numbers = scores.argmax(axis=1) if scores.shape[1] > 1 else scores[:, 0] > 0
    return numbers.astype(np.int64), probabilities


def probabilities_of(scores: FloatArray) -> FloatArray:
    """Sigmoids of `scores` (rows, K): one score gives the pair 1 - p, p; more are normalised to add up to 1 in a
    row."""
    each = _sigmoid(scores)
    if scores.shape[1] == 1:
        return np.hstack([_sigmoid(-scores), each])
    total = each.sum(axis=1, keepdims=True)
    # Where every class is so unlikely that its sigmoid is 0, all classes get the same probability.
    shares: FloatArray = np.divide(each, total, out=np.full_like(each, 1 / each.shape[1]), where=total > 0)
    return shares


def _sigmoid(scores: FloatArray) -> FloatArray:
    # As SciPy's expit, which takes a tenth of a second to import.
    return np.asarray(np.exp(-np.logaddexp(0.0, -scores)))
