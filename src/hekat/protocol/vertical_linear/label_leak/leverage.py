"""The rule on leverage: in no column of a batch may one row outweigh the others, whatever is taken off the column.

A party that sees the sum of x_i d_i of a column, and may know the sum of d_i, has the sum of (x_i - c) d_i for every c.
In that sum, row i weighs (x_i - c)^2 out of the sum of (x_j - c)^2 over the batch. Let n be the number of rows, m their
mean and V the sum of (x_j - m)^2. The weight is largest for c = m - V / (n (x_i - m)), where it is
1/n + (x_i - m)^2 / V: the leverage of the row in a regression on the column and a constant. A column that has one value
v but in k rows is the case c = v: some row has a leverage of at least 1/k.
Source: Hoaglin and Welsch 1978, "The hat matrix in regression and ANOVA", for leverage.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import numpy.typing as npt

from hekat.data import Features, is_dense

IntArray = npt.NDArray[np.int64]
FloatArray = npt.NDArray[np.float64]
BoolArray = npt.NDArray[np.bool_]

MAX_LEVERAGE = 0.1
"""The largest leverage that a row of a batch may have in a column."""
# Ten equal rows among zeros have a leverage of exactly a tenth; rounding may take it above.
_ROUNDING = 1e-9


def find_high_leverage_columns(features: Features, batches: Iterable[IntArray]) -> BoolArray:
    """Which columns (columns,) have, in some batch, a row with a leverage above MAX_LEVERAGE, or only one value.

    Leverages of n rows add up to 2, so every column of a batch of fewer than 20 rows has such a row.
    """
    is_high = np.zeros(features.shape[1], np.bool_)
    for rows in batches:
        part = features[rows]
        is_high |= _of_dense(part) if is_dense(part) else _of_sparse(part)
    return is_high


def _of_dense(part: FloatArray) -> BoolArray:
    squares = (part - part.mean(axis=0)) ** 2
    is_constant = np.asarray((part == part[0]).all(axis=0), np.bool_)
    return _is_high(squares.max(axis=0), squares.sum(axis=0), len(part)) | is_constant


def _of_sparse(part: Features) -> BoolArray:
    """As `_of_dense`, for sparse rows."""
    assert not is_dense(part)
    row_count, column_count = part.shape
    places, values = part.indices, part.data

    def sum_up(weights: FloatArray) -> FloatArray:
        return np.asarray(np.bincount(places, weights=weights, minlength=column_count), np.float64)

    zeros = row_count - np.bincount(places, minlength=column_count)
    means = sum_up(values) / row_count
    squares = (values - means[places]) ** 2
    largest = np.where(zeros > 0, means**2, 0.0)
    lowest, highest = np.where(zeros > 0, 0.0, np.inf), np.where(zeros > 0, 0.0, -np.inf)
    np.maximum.at(largest, places, squares)
    np.minimum.at(lowest, places, values)
    np.maximum.at(highest, places, values)
    is_constant = np.asarray(lowest == highest, np.bool_)
    return _is_high(largest, sum_up(squares) + zeros * means**2, row_count) | is_constant


def _is_high(largest: FloatArray, total: FloatArray, row_count: int) -> BoolArray:
    return np.asarray(largest + total / row_count > MAX_LEVERAGE * (1 + _ROUNDING) * total, np.bool_)
