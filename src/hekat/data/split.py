"""Cuts a table into rows to train on and rows held out, with every class on both sides in its own share.

Held out is a fraction once, or one of several folds after the other.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from hekat.data.table import Table
from hekat.errors import InputError

# An update from one row would tell that row.
_LEAST_TRAINING_ROWS = 2


def hold_out_rows(table: Table, fraction: float, seed: int) -> tuple[Table, Table]:
    """Cut a table into rows to train on and rows held out.

    Where labels are classes (int64), each class gives its share, rounded by the largest remainder; a class keeps a row
    to train on where that is possible. Which rows are held out depends on the seed, the row count and the labels alone.

    Args:
        table: The table.
        fraction: The share of rows to hold out, between 0 and 1; at least one row is held out and at least two stay.
        seed: Draws the rows.

    Returns:
        The rows to train on and the rows held out, each in row order.

    Raises:
        InputError: There are too few rows.

    Examples:
        >>> import numpy as np
        >>> from hekat.data import Table, hold_out_rows
        >>> table = Table(np.arange(10.0).reshape(10, 1), np.arange(10) % 2, ("age",))
        >>> [part.features.shape for part in hold_out_rows(table, 0.2, seed=1)]
        [(8, 1), (2, 1)]
    """
    row_count = len(table)
    if not (math.isfinite(fraction) and 0 < fraction < 1) or row_count <= _LEAST_TRAINING_ROWS:
        raise InputError(
            f"{table.name} cannot be split",
            expected=f"a fraction between 0 and 1 of at least {_LEAST_TRAINING_ROWS + 1:,} rows",
            got=f"fraction {fraction} of {row_count:,} rows",
            cure="change the fraction, hold out nothing, or leave this party out",
        )
    wanted = min(max(round(row_count * fraction), 1), row_count - _LEAST_TRAINING_ROWS)
    rng = np.random.default_rng([seed, row_count])
    is_held_out = np.zeros(row_count, dtype=np.bool_)
    classes = _rows_by_class(table.labels, rng.permutation(row_count))
    for rows, count in zip(classes, _counts_of_classes([rows.size for rows in classes], wanted, rng), strict=True):
        is_held_out[rows[:count]] = True
    return table.take(np.flatnonzero(~is_held_out)), table.take(np.flatnonzero(is_held_out))


def fold_rows(table: Table, fold: int, fold_count: int, seed: int) -> tuple[Table, Table]:
    """Cut a table into the rows of all folds but one, and the rows of that fold.

    Folds differ by one row at most, as do a class' rows in them where labels are classes (int64). Which rows a fold has
    depends on the seed, the row count and the labels alone; every row is in one fold.

    Args:
        table: The table.
        fold: Number of the fold that is held out, 1 to `fold_count`.
        fold_count: How many folds there are, at least two.
        seed: Draws the rows.

    Returns:
        The rows to train on and the rows of the fold, each in row order.

    Raises:
        InputError: A fold would have no row, or fewer than two rows would be left.

    Examples:
        >>> import numpy as np
        >>> from hekat.data import Table, fold_rows
        >>> table = Table(np.arange(10.0).reshape(10, 1), np.arange(10) % 2, ("age",))
        >>> [part.features.shape for part in fold_rows(table, 1, 5, seed=1)]
        [(8, 1), (2, 1)]
    """
    row_count = len(table)
    least = max(fold_count, -(-_LEAST_TRAINING_ROWS * fold_count // max(fold_count - 1, 1)))
    if fold_count < 2 or row_count < least:
        raise InputError(
            f"{table.name} cannot be cut into {fold_count} folds",
            expected="2 folds or more, no more than rows, and at least two rows in all folds but one",
            got=f"{fold_count} folds of {row_count:,} rows",
            cure="lower validation.folds, or leave this party out",
        )
    rng = np.random.default_rng([seed, row_count, fold_count])
    classes = _rows_by_class(table.labels, rng.permutation(row_count))
    fold_of_row = np.empty(row_count, dtype=np.int64)
    # One class goes on where the one before ended, so that the folds are even too.
    fold_of_row[np.concatenate(classes)] = np.arange(row_count) % fold_count
    is_held_out = fold_of_row == fold - 1
    return table.take(np.flatnonzero(~is_held_out)), table.take(np.flatnonzero(is_held_out))


def _rows_by_class(labels: npt.NDArray[Any] | None, order: npt.NDArray[np.int64]) -> list[npt.NDArray[np.int64]]:
    """For each class its rows in the drawn order; one class for all where labels are no classes."""
    if labels is None or labels.dtype.kind not in "iu":
        return [order]
    drawn = labels[order]
    return [order[drawn == label] for label in np.unique(labels)]


def _counts_of_classes(sizes: list[int], wanted: int, rng: np.random.Generator) -> list[int]:
    """How many rows of each class are held out, `wanted` in all."""
    total = sum(sizes)
    counts = [size * wanted // total for size in sizes]
    # One more for the largest remainders; a class whose last row that would be comes after all others, and chance
    # decides between equals.
    chance = rng.permutation(len(sizes))
    by_remainder = sorted(
        range(len(sizes)),
        key=lambda number: (
            counts[number] + 1 >= sizes[number],
            -(sizes[number] * wanted % total),
            chance[number],
        ),
    )
    for number in by_remainder[: wanted - sum(counts)]:
        counts[number] += 1
    return counts
