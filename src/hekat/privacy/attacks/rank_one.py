"""Fills a matrix of rank one from its visible entries: what hides single entries of an outer product hides nothing."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.float64]
BoolArray = npt.NDArray[np.bool_]

_ROUNDS = 100
_SETTLED = 1e-12
# Squares below this share of the largest one are noise of float32 and settle no factor.
_NOISE = 1e-14


@dataclass(frozen=True)
class RankOne:
    """`left` (rows,) times `right` (columns,); `known_rows` and `known_columns` say which follow from visible entries,
    and the others are zero."""

    left: FloatArray
    right: FloatArray
    known_rows: BoolArray
    known_columns: BoolArray

    @property
    def filled(self) -> FloatArray:
        """The whole matrix, zero in rows and columns that are not known."""
        return np.outer(self.left, self.right)

    @property
    def known(self) -> BoolArray:
        """Which entries of `filled` follow from visible ones."""
        return np.outer(self.known_rows, self.known_columns)


def complete_rank_one(values: FloatArray, visible: BoolArray) -> RankOne:
    """The matrix of rank one nearest to the visible entries, by alternating least squares that begin at one row and
    reach all that visible entries link to it.

    Args:
        values: Shape (rows, columns); what is not visible is not read.
        visible: Booleans of the same shape.

    Returns:
        Factors, the right one of norm 1 with a sum of at least 0.

    Examples:
        >>> import numpy as np
        >>> seen = np.array([[True, True], [True, False]])
        >>> complete_rank_one(np.array([[1.0, 2.0], [3.0, 0.0]]), seen).filled.round(6).tolist()
        [[1.0, 2.0], [3.0, 6.0]]
    """
    flags = visible.astype(np.float64)
    seen = np.where(visible, values, 0.0)
    rows, columns = values.shape
    if not seen.any():
        return RankOne(np.zeros(rows), np.zeros(columns), np.zeros(rows, np.bool_), np.zeros(columns, np.bool_))
    # The row with most to see begins: its own entries are already in the right proportions.
    first = int(np.argmax((seen**2).sum(axis=1)))
    right, known_columns = seen[first] / np.linalg.norm(seen[first]), visible[first]
    left, known_rows = np.zeros(rows), np.zeros(rows, np.bool_)
    for _ in range(_ROUNDS):
        before = right, int(known_rows.sum() + known_columns.sum())
        left, known_rows = _fit(seen, flags, right)
        right, known_columns = _fit(seen.T, flags.T, left)
        right = right / np.linalg.norm(right)
        if before[1] == known_rows.sum() + known_columns.sum() and np.abs(right - before[0]).max() < _SETTLED:
            break
    left, known_rows = _fit(seen, flags, right)
    sign = -1.0 if right.sum() < 0 else 1.0
    return RankOne(sign * left, sign * right, known_rows, known_columns)


def _fit(seen: FloatArray, flags: FloatArray, factor: FloatArray) -> tuple[FloatArray, BoolArray]:
    """The other factor by least squares, and where visible entries settle it; a factor that is not known is 0."""
    squares = flags @ factor**2
    settled = squares > _NOISE * float((factor**2).max())
    return np.divide(seen @ factor, squares, out=np.zeros(len(seen)), where=settled), settled
