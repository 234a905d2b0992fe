"""A table of columns in bins: what histograms and predictions of trees read."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

import numpy as np

from hekat.errors import InputError
from hekat.model.parameters import FloatArray
from hekat.model.trees.column_bins import ColumnBins, Digits, find_bins
from hekat.model.trees.settings import check_bin_limit


@dataclass(frozen=True)
class BinnedTable:
    """`digits`, shape (columns, rows), uint8: the bin of each row in each column; `bins` of the columns."""

    bins: tuple[ColumnBins, ...]
    digits: Digits = field(repr=False)

    @property
    def row_count(self) -> int:
        return int(self.digits.shape[1])

    @property
    def column_count(self) -> int:
        return len(self.bins)

    @property
    def widest(self) -> int:
        """The largest number of bins of a column, with the missing bin; 1 without columns."""
        return max((bins.bin_count for bins in self.bins), default=1)


def bin_table(X: FloatArray, max_bins: int, categories: Collection[int] = ()) -> BinnedTable:
    """The columns of X, shape (rows, columns), float64, in bins of their own values; NaN is missing.

    `categories`: the columns whose values name categories. Raises InputError for another shape, no rows, infinite
    values, a category that is no column, and a `max_bins` out of its range.
    """
    check_bin_limit(max_bins)
    _check_table(X)
    unknown = sorted(set(categories) - set(range(X.shape[1])))
    if unknown:
        raise InputError(
            "categories name columns that are not there",
            expected=f"numbers of columns from 0 to {X.shape[1] - 1}",
            got=str(unknown[0]),
        )
    bins = [find_bins(X[:, c], max_bins, is_category=c in categories) for c in range(X.shape[1])]
    return bin_rows(X, bins)


def bin_rows(X: FloatArray, bins: Sequence[ColumnBins]) -> BinnedTable:
    """The rows of X, shape (rows, columns), in given bins: for prediction. Raises InputError as `bin_table` does."""
    _check_table(X)
    if X.shape[1] != len(bins):
        raise InputError(
            "rows do not fit the model",
            expected=f"{len(bins)} columns",
            got=f"{X.shape[1]}",
            cure="use the columns that the model was trained on",
        )
    digits = np.empty((len(bins), X.shape[0]), np.uint8)
    for c, column in enumerate(bins):
        digits[c] = column.digits(X[:, c])
    return BinnedTable(tuple(bins), digits)


def _check_table(X: FloatArray) -> None:
    if X.ndim != 2 or X.dtype != np.float64 or X.shape[0] == 0:
        raise InputError(
            "rows for trees refused",
            expected="shape (rows, columns) of float64 with at least one row",
            got=f"shape {X.shape} of {X.dtype}",
        )
