"""Sparse exponents cut into small dense blocks, for a native core that multiplies powers of dense ones."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from hekat.engine.limbs import LimbArray
from hekat.engine.sparse_exponents import SparseExponents

_Indices = npt.NDArray[np.int64]

MAX_BLOCK_LIMBS: Final = 1 << 20
# Results are worth one block, which makes its bases' tables once, where a base is used so often on average.
MIN_SHARED_USES: Final = 8


@dataclass(frozen=True, eq=False)
class DenseBlock:
    """The results in one slice: exponents (k, m, e_limbs) of the k bases that they use, each named in `bases`."""

    results: slice
    bases: _Indices
    limbs: LimbArray


def dense_blocks(exponents: SparseExponents, bases: _Indices) -> Iterator[DenseBlock]:
    """Blocks of consecutive results, of at most MAX_BLOCK_LIMBS limbs or of one result; signs are not looked at.

    `bases` stands for exponents.bases. A base that comes several times in one result comes as often in its block.
    """
    offsets, limbs = exponents.offsets, exponents.limbs
    results = np.repeat(np.arange(exponents.result_count), np.diff(offsets))
    base_count = int(bases.max(initial=0)) + 1
    # A row of a dense block: a base, and the how-many-th time it comes in one result.
    rows = bases + base_count * _count_repeats(results, bases)
    row_count = np.unique(rows).size
    most = MAX_BLOCK_LIMBS if rows.size >= MIN_SHARED_USES * row_count else 0
    start = 0
    while start < exponents.result_count:
        stop = max(start + 1, start + _fitting_results(offsets[start:], row_count, most // limbs.shape[1]))
        entries = slice(int(offsets[start]), int(offsets[stop]))
        used, place = np.unique(rows[entries], return_inverse=True)
        dense = np.zeros((used.size, stop - start, limbs.shape[1]), np.uint64)
        dense[place, results[entries] - start] = limbs[entries]
        yield DenseBlock(slice(start, stop), used % base_count, dense)
        start = stop


def _count_repeats(results: _Indices, bases: _Indices) -> _Indices:
    """For each entry, how many before it have its result and its base."""
    order = np.lexsort((bases, results))
    is_first = np.ones(order.size, np.bool_)
    is_first[1:] = (np.diff(results[order]) != 0) | (np.diff(bases[order]) != 0)
    firsts = np.flatnonzero(is_first)
    repeats = np.empty(order.size, np.int64)
    repeats[order] = np.arange(order.size) - np.repeat(firsts, np.diff(firsts, append=order.size))
    return repeats


def _fitting_results(offsets: _Indices, row_count: int, most_cells: int) -> int:
    """How many results from the first on have a dense block of at most `most_cells` cells."""
    first = int(offsets[0])
    counts = range(1, offsets.size)
    return bisect_right(counts, most_cells, key=lambda count: count * min(int(offsets[count]) - first, row_count))
