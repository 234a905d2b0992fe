"""How much of a table's row or of a text an attacker reads: cells within a tolerance, tokens of the bag."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

CELL_TOLERANCE = 0.05
_FLOOR_ROWS = 10


def share_of_cells_read(
    row: npt.NDArray[Any], found: npt.NDArray[Any], widths: npt.NDArray[np.float64] | float = 1.0
) -> float:
    """The share of a row's cells that a guess meets within `CELL_TOLERANCE` of the column's width.

    Args:
        row: The cells that were to be guessed.
        found: The guess, of the same shape.
        widths: Largest less smallest value of each column, or of all.

    Returns:
        From 0 to 1.

    Examples:
        >>> import numpy as np
        >>> share_of_cells_read(np.array([0.5, 0.2]), np.array([0.52, 0.4]))
        0.5
    """
    return float(np.mean(np.abs(np.asarray(found) - row) <= CELL_TOLERANCE * np.asarray(widths)))


def floor_of_cells_read(row: npt.NDArray[Any], low: Any, high: Any, *, seed: int = 0) -> float:
    """The mean share that random rows, uniform between `low` and `high`, meet.

    Args:
        row: The cells that are to be guessed.
        low: Smallest value of each column, or of all.
        high: Largest value of each column, or of all.
        seed: Of the random rows.

    Returns:
        From 0 to 1, about 2 * `CELL_TOLERANCE`.
    """
    dice = np.random.default_rng(seed)
    widths = np.asarray(high, dtype=np.float64) - low
    guesses = [low + widths * dice.random(row.shape) for _ in range(_FLOOR_ROWS)]
    return float(np.mean([share_of_cells_read(row, guess, widths) for guess in guesses]))


def share_of_labels_read(labels: Sequence[int], found: Sequence[int]) -> float:
    """The share of a batch's labels that were read, whatever row they were read for.

    Args:
        labels: The batch's labels.
        found: The labels that were read, possibly fewer.

    Returns:
        From 0 to 1.

    Examples:
        >>> share_of_labels_read([3, 3, 5], [5, 3, 1])
        0.6666666666666666
    """
    return sum((Counter(labels) & Counter(found)).values()) / len(labels)


def share_of_tokens_read(tokens: Collection[int], found: Collection[int]) -> float | None:
    """The share of distinct tokens that were read; None where there are none.

    Args:
        tokens: Tokens of the text, or the rare ones among them.
        found: Tokens that were read.

    Returns:
        From 0 to 1.

    Examples:
        >>> share_of_tokens_read([7, 7, 9], {9})
        0.5
    """
    distinct = set(tokens)
    return len(distinct & set(found)) / len(distinct) if distinct else None
