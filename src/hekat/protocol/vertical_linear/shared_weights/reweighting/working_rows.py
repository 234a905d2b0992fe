"""What the guest takes of each row whose score it knows: a weight and a response, from which the log loss follows.

Around scores u the log loss of a class is the weighted square w (v - u - (y - p) / w)^2 / 2 of new scores v: p is the
probability that u gives, y 0 or 1, and w = p (1 - p) the curvature. With three classes or more p is a softmax, and w
is 2 p (1 - p), which bounds its curvature in all classes together. A least weight keeps rows that are told apart from
steps that their next score would not bear out; over a part of the rows it is larger, so that a rare class is not fitted
to few rows.

Where the rows are a part of the training rows, the Taylor residuals e are taken off to lessen chance: over all rows
they are orthogonal to every column, since training came to the minimum, and over some rows they show how far these
rows are from all.
Source: McCullagh and Nelder 1989, section 2.5, for the weights; Böhning 1992 for a bound in place of the curvature;
Owen 2013, section 8.9, for control variates.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.float64]

LEAST_WEIGHT, LEAST_WEIGHT_OF_PART = 0.003, 0.02
TAYLOR_SCORE: Final = 2.0
"""The score where the Taylor loss of a row is least, times its target of -1 or 1."""
_LEAST_PROBABILITY: Final = 1e-6


@dataclass(frozen=True)
class WorkingRows:
    """Weights in [0, 1] and weighted responses (rows, K), both times `unit`, which makes the largest weight 1."""

    weights: FloatArray
    responses: FloatArray


def unit_of(column_count: int) -> float:
    """What curvatures are multiplied with, so that none exceeds 1; `column_count` is K."""
    return 4.0 if column_count == 1 else 2.0


def find_working_rows(scores: FloatArray, log_odds: FloatArray, targets: FloatArray, *, is_part: bool) -> WorkingRows:
    """The working rows of `log_odds` (rows, K), which probabilities follow from, at Taylor `scores` (rows, K).

    `targets` are -1 or 1, one 1 a row where K > 1. `is_part`: the rows are not all training rows.
    """
    many = log_odds.shape[1] > 1
    probabilities = softmax(log_odds) if many else 0.5 * (1.0 + np.tanh(log_odds / 2))
    probabilities = np.clip(probabilities, _LEAST_PROBABILITY, 1.0 - _LEAST_PROBABILITY)
    curvatures = probabilities * (1.0 - probabilities) * (2.0 if many else 1.0)
    weights = np.maximum(curvatures, LEAST_WEIGHT_OF_PART if is_part else LEAST_WEIGHT)
    if many:
        logs = np.log(probabilities)
        points = logs - logs.mean(axis=1, keepdims=True)
    else:
        points = np.log(probabilities) - np.log1p(-probabilities)
    residuals = (targets > 0) - probabilities
    if is_part:
        taylor = TAYLOR_SCORE * targets - scores
        squares = np.maximum((taylor * taylor).sum(axis=0), np.finfo(np.float64).tiny)
        residuals = residuals - taylor * ((taylor * residuals).sum(axis=0) / squares)
    unit = unit_of(log_odds.shape[1])
    return WorkingRows(unit * weights, unit * (weights * points + residuals))


def softmax(values: FloatArray) -> FloatArray:
    """Probabilities (rows, K) from log-odds (rows, K)."""
    powers = np.exp(values - values.max(axis=1, keepdims=True))
    return np.asarray(powers / powers.sum(axis=1, keepdims=True))
