"""The bins of one column: where a number or a category goes, and missing values in a bin of their own."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from hekat.errors import InputError
from hekat.model.parameters import FloatArray
from hekat.model.trees.settings import MOST_BINS, check_bin_limit

Digits = npt.NDArray[np.uint8]
"""Numbers of bins, one for each value."""
_HALF_FULL = 0.5


@dataclass(frozen=True)
class ColumnBins:
    """The bins of one column; the last one holds missing values (NaN) and categories that training never saw.

    Of numbers, bin i holds edges[i-1] < value <= edges[i]; `edges`, shape (value bins - 1,), ascend. Of categories,
    `edges` are the values, ascending, and `category_bins` (uint8) says the bin of each: rare ones share the last.
    Raises InputError for edges that do not ascend, or more bins than MOST_BINS beside the bin of missing values.
    """

    edges: FloatArray = field(repr=False)
    is_category: bool = False
    category_bins: Digits = field(default_factory=lambda: np.zeros(0, np.uint8), repr=False)

    def __post_init__(self) -> None:
        edges = np.asarray(self.edges, np.float64)
        object.__setattr__(self, "edges", edges)
        object.__setattr__(self, "category_bins", np.asarray(self.category_bins, np.uint8))
        if edges.ndim != 1 or not np.isfinite(edges).all() or (np.diff(edges) <= 0).any():
            raise InputError("edges of bins refused", expected="finite numbers that ascend", got="others")
        if self.is_category and self.category_bins.shape != edges.shape:
            raise InputError(
                "bins of categories refused",
                expected=f"one bin for each of {len(edges)} categories",
                got=f"{self.category_bins.size} bins",
            )
        if self.value_bin_count > MOST_BINS:
            raise InputError("too many bins", expected=f"at most {MOST_BINS}", got=str(self.value_bin_count))

    @property
    def value_bin_count(self) -> int:
        """How many bins values have; 1 for a column that is constant or missing everywhere, which is never split
        but between its value and missing ones."""
        if self.is_category:
            return int(self.category_bins.max(initial=0)) + 1
        return len(self.edges) + 1

    @property
    def bin_count(self) -> int:
        """All bins: the bins of values, then the bin of missing values."""
        return self.value_bin_count + 1

    @property
    def missing_bin(self) -> int:
        """The number of the last bin."""
        return self.bin_count - 1

    def digits(self, values: FloatArray) -> Digits:
        """The bin of each value (float64, any shape). A number beyond the edges is in the first or last value bin."""
        if self.is_category:
            places = np.minimum(np.searchsorted(self.edges, values), max(len(self.edges) - 1, 0))
            if len(self.edges) == 0:
                return np.full(values.shape, self.missing_bin, np.uint8)
            found = self.category_bins[places]
            return np.where(self.edges[places] == values, found, np.uint8(self.missing_bin))
        found = np.searchsorted(self.edges, values, side="left").astype(np.uint8)
        found[np.isnan(values)] = self.missing_bin
        return found


def find_bins(values: FloatArray, max_bins: int, *, is_category: bool = False) -> ColumnBins:
    """Bins of one column's training values, shape (rows,), NaN where missing: at most `max_bins` and the missing bin.

    Where the distinct values are no more than `max_bins`, each has its own bin. Else a number that many rows share has
    its own, and the others are cut into bins of about as many rows; of categories, the most frequent have
    their own, and the rest share one. Raises InputError for infinite values and a `max_bins` out of its range.

    Source: the greedy search of bins in LightGBM (Ke et al. 2017, `GreedyFindBin`).
    """
    check_bin_limit(max_bins)
    known = values[~np.isnan(values)]
    if not np.isfinite(known).all():
        raise InputError(
            "a column holds infinite values",
            expected="finite numbers, or NaN for missing ones",
            got=f"{int(np.isinf(known).sum())} infinite values",
            cure="replace them, or leave them empty",
        )
    distinct, counts = np.unique(known, return_counts=True)
    if is_category:
        return _category_bins(distinct, counts, max_bins)
    if len(distinct) <= max_bins:
        return ColumnBins(_between(distinct[:-1], distinct[1:]))
    ends = _greedy_ends(counts, max_bins)
    return ColumnBins(_between(distinct[ends], distinct[ends + 1]))


def _between(below: FloatArray, above: FloatArray) -> FloatArray:
    """Numbers halfway; where no float lies between two neighbours, the lower, so that `value <= edge` still tells."""
    middle = below + (above - below) * 0.5
    return np.where((middle >= below) & (middle < above), middle, below)


def _category_bins(distinct: FloatArray, counts: npt.NDArray[np.int64], max_bins: int) -> ColumnBins:
    bins = np.arange(len(distinct))
    if len(distinct) > max_bins:
        # By count, and by value where counts tie: the order does not depend on the sort.
        by_count = np.lexsort((distinct, -counts))
        bins[by_count] = np.minimum(np.arange(len(distinct)), max_bins - 1)
    return ColumnBins(distinct, is_category=True, category_bins=bins.astype(np.uint8))


def _greedy_ends(counts: npt.NDArray[np.int64], max_bins: int) -> npt.NDArray[np.int64]:
    """The last distinct value of each bin but the last bin: values that fill a bin alone have one alone."""
    up_to = np.concatenate([[0], np.cumsum(counts)])
    mean = up_to[-1] / max_bins
    is_big = counts >= mean
    big = np.append(np.flatnonzero(is_big), len(counts))
    rest_rows, rest_bins = int(counts[~is_big].sum()), max_bins - int(is_big.sum())
    mean = rest_rows / max(rest_bins, 1)
    ends: list[int] = []
    start = 0
    while start < len(counts) and len(ends) < max_bins - 1:
        next_big = int(big[np.searchsorted(big, start)])
        full = int(np.searchsorted(up_to, up_to[start] + mean)) - 1
        if next_big == start:
            end = start
        elif full < next_big:
            end = full
        else:
            is_enough = up_to[next_big] - up_to[start] >= max(1.0, mean * _HALF_FULL)
            end = next_big - 1 if is_enough else next_big
        if end >= len(counts) - 1:
            break
        ends.append(end)
        if not is_big[end]:
            rest_rows -= int(up_to[end + 1] - up_to[start])
            rest_bins -= 1
            mean = rest_rows / max(rest_bins, 1)
        start = end + 1
    return np.array(ends, np.int64)
