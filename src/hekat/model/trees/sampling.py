"""What an iteration draws from the public seed: the same rows, columns and roundings wherever it is drawn.

All draws follow from PCG64's raw numbers and a stable sort, which NumPy keeps from version to version.
"""

from __future__ import annotations

import numpy as np

from hekat.model.trees.node import BoolArray
from hekat.model.trees.rounding import IntArray
from hekat.model.trees.settings import TreeTraining

_HOLD_OUT, _ROWS, _COLUMNS, _ROUNDING = range(4)


def hold_out_rows(training: TreeTraining, row_count: int) -> BoolArray:
    """Which rows train nothing, shape (rows,): `validation_fraction` of them with early stopping, else none."""
    held_out = np.zeros(row_count, bool)
    if training.early_stopping:
        count = max(1, round(training.validation_fraction * row_count))
        held_out[_draw_order(training, _HOLD_OUT, 0, row_count)[:count]] = True
    return held_out


def sample_rows(training: TreeTraining, iteration: int, rows: IntArray) -> IntArray:
    """The rows of an iteration, ascending: `subsample` of `rows`, which ascend."""
    if training.subsample == 1:
        return rows
    count = max(1, round(training.subsample * len(rows)))
    return rows[np.sort(_draw_order(training, _ROWS, iteration, len(rows))[:count])]


def sample_columns(training: TreeTraining, iteration: int, column_count: int) -> BoolArray:
    """Which columns of all parties an iteration may split by, shape (columns,): `max_features` of them."""
    if training.max_features == 1:
        return np.ones(column_count, bool)
    count = max(1, round(training.max_features * column_count))
    sampled = np.zeros(column_count, bool)
    sampled[_draw_order(training, _COLUMNS, iteration, column_count)[:count]] = True
    return sampled


def rounding_generator(training: TreeTraining, iteration: int) -> np.random.PCG64 | None:
    """Where an iteration's stochastic roundings come from; None: gradients are rounded to the nearest level."""
    return _generator(training, _ROUNDING, iteration) if training.rounding == "stochastic" else None


def _generator(training: TreeTraining, purpose: int, iteration: int) -> np.random.PCG64:
    return np.random.PCG64(np.random.SeedSequence([training.seed, purpose, iteration]))


def _draw_order(training: TreeTraining, purpose: int, iteration: int, count: int) -> IntArray:
    raw = _generator(training, purpose, iteration).random_raw(count)
    return np.argsort(raw, kind="stable").astype(np.int64)
