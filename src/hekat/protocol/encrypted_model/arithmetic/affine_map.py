"""A host's local epochs as one affine map z -> M z + v of weights that it cannot read.

The objective is quadratic: for each of K columns of targets the mean of log 2 - y s / 2 + s^2 / 8 with y in {-1, 1}
(logistic, by Taylor), or of (s - y)^2 / 2 (linear), plus l2 |w|^2 / 2 without the intercept. So the gradient of a
batch of n rows is H w - g with H = X^T X / (4 n) + l2 and g = X^T y / (2 n), or X^T X / n + l2 and X^T y / n, and every
step of gradient descent with momentum is affine in z = (w, u):

    u <- momentum u + rate (H w - g);   w <- w - u

X has a last column of ones for the intercept. u is the rate times the velocity, whose entries are of the size of steps.
Source: Hardy et al. 2017, section 3 (the Taylor loss); Polyak 1964 (momentum).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

import numpy as np
import numpy.typing as npt

from hekat.errors import DivergedError
from hekat.protocol.encrypted_model.settings import EncryptedModelSettings
from hekat.protocol.vertical.batches import draw_batches

FloatArray = npt.NDArray[np.float64]

LARGEST_ENTRY: Final = 8.0
"""A map with a larger entry blows weights up."""
_FACTORS: Final = {"logistic": (0.25, 0.5), "linear": (1.0, 1.0)}
"""What X^T X / n and X^T y / n are multiplied by, for each task."""


@dataclass(frozen=True)
class AffineMap:
    """z -> matrix z + offset, for z of shape (size, K): `matrix` (size, size), `offset` (size, K)."""

    matrix: FloatArray = field(repr=False)
    offset: FloatArray = field(repr=False)

    def apply(self, z: FloatArray) -> FloatArray:
        """The map of z (size, K)."""
        return np.asarray(self.matrix @ z + self.offset)


def state_size(column_count: int, settings: EncryptedModelSettings) -> int:
    """How many numbers are carried for each column of targets: a weight of every column and the intercept, with
    momentum a velocity of each."""
    return (column_count + 1) * (2 if settings.training.uses_velocity else 1)


def make_map(features: FloatArray, targets: FloatArray, settings: EncryptedModelSettings) -> AffineMap:
    """The map of all local epochs of a round over rows (n, columns) with targets (n, K).

    Takes float64 throughout, and one pass over the rows: the steps of an epoch are made on the matrix [M | v]. Raises
    DivergedError where an entry of M is above LARGEST_ENTRY.
    """
    size, (row_count, target_count) = state_size(features.shape[1], settings), targets.shape
    rows = np.column_stack([features, np.ones(row_count)])
    weights = np.eye(rows.shape[1], size + target_count)
    moves = np.eye(rows.shape[1], size + target_count, k=rows.shape[1])
    if not settings.training.uses_velocity:
        moves = np.zeros_like(weights)
    # What overflows shows in the entries below.
    with np.errstate(over="ignore", invalid="ignore"):
        equations = [_equations_of(rows[batch], targets[batch], settings) for batch in _batches(row_count, settings)]
        for _ in range(settings.training.local_epochs):
            for of_weights, constant in equations:
                weights, moves = _step(weights, moves, of_weights, constant, settings)
    both = np.vstack([weights, moves]) if settings.training.uses_velocity else weights
    made = AffineMap(both[:, :size], both[:, size:])
    _check_entries(made)
    return made


def _batches(row_count: int, settings: EncryptedModelSettings) -> list[npt.NDArray[np.int64]]:
    return draw_batches(row_count, settings.training.batch_rows, settings.training.seed)


def _equations_of(
    rows: FloatArray, targets: FloatArray, settings: EncryptedModelSettings
) -> tuple[FloatArray, FloatArray]:
    """rate H and rate g of one batch: its gradient times the learning rate is the first times w less the second."""
    of_squares, of_targets = _FACTORS[settings.task]
    share = settings.training.learning_rate / len(rows)
    of_weights = np.asarray(rows.T @ rows) * (of_squares * share)
    # Without the intercept, whose column is the last one.
    np.fill_diagonal(
        of_weights[:-1, :-1], of_weights.diagonal()[:-1] + settings.training.learning_rate * settings.training.l2
    )
    return of_weights, np.asarray(rows.T @ targets) * (of_targets * share)


def _step(
    weights: FloatArray,
    moves: FloatArray,
    of_weights: FloatArray,
    constant: FloatArray,
    settings: EncryptedModelSettings,
) -> tuple[FloatArray, FloatArray]:
    gradient = of_weights @ weights
    gradient[:, -constant.shape[1] :] -= constant
    moves = settings.training.momentum * moves + gradient if settings.training.uses_velocity else gradient
    return weights - moves, moves


def _check_entries(made: AffineMap) -> None:
    largest = float(np.abs(made.matrix).max())
    # A NaN is no number below the limit either.
    if not largest <= LARGEST_ENTRY or not np.isfinite(made.offset).all():
        raise DivergedError(
            "local training would blow the weights up",
            expected=f"an affine map with entries of at most {LARGEST_ENTRY:g}",
            got="one with larger entries",
            cure="lower training.learning_rate or training.momentum, or set training.standardise = true",
        )
