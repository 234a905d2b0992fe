"""One column's cells: where each begins and how many rows of all parties lie in it; cells with many rows are cut."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hekat.errors import ProtocolError
from hekat.protocol.horizontal_trees.binning.float_keys import FloatArray, IntArray, end_key, first_cuts, values_of

CELL_BUDGET = 1024
"""New cells of a column in one round, at most, unless more than half as many cells are to be cut."""
FINENESS = 4
"""A cell is cut while it holds more rows than one part in FINENESS of an even bin."""


@dataclass(frozen=True)
class Cells:
    """Cells of one column, ascending: `starts` are their first keys, int64; `counts` their rows, of all parties."""

    starts: IntArray
    counts: IntArray

    @property
    def ends(self) -> IntArray:
        """The keys one above the last of each cell."""
        return np.append(self.starts[1:], end_key())


def first_cells() -> Cells:
    """Cells before anything was counted."""
    starts = first_cuts()
    return Cells(starts, np.zeros(starts.size, dtype=np.int64))


@dataclass(frozen=True)
class Refinement:
    """The cells of a column that are cut next, by place, and where the new cells begin, `parts` to each one."""

    places: IntArray
    starts: IntArray
    """(cut cells, parts), ascending in each row; equal starts where a cell has fewer values than parts."""


def refine(cells: Cells, row_count: int, bin_count: int) -> Refinement | None:
    """What to cut next; None where no cell holds too many rows that can be told apart."""
    widths = cells.ends - cells.starts
    # A lone row is never cut out: it would be told to a few more digits each time, and no bin would be better for it.
    most = max(1, row_count // (FINENESS * bin_count))
    places = np.flatnonzero((cells.counts > most) & (widths > 1))
    if not places.size:
        return None
    parts = 2 ** max(1, int(np.log2(max(1, CELL_BUDGET // places.size))))
    steps = np.arange(parts, dtype=np.int64)
    # Quotient and rest apart: widths are up to 2^62, and a product with a step would not fit.
    width, rest = np.divmod(widths[places], parts)
    starts = cells.starts[places, None] + width[:, None] * steps + rest[:, None] * steps // parts
    return Refinement(places, starts)


def count_cells(sorted_keys: IntArray, starts: IntArray, end: int) -> IntArray:
    """How many of one party's keys, ascending, lie from each of `starts` up to the next one, and to `end` at last."""
    places = np.searchsorted(sorted_keys, np.append(starts, end))
    counts: IntArray = np.diff(places).astype(np.int64)
    return counts


def count_refinement(sorted_keys: IntArray, cells: Cells, refinement: Refinement) -> IntArray:
    """This party's rows in each new cell, of the shape of `refinement.starts`."""
    ends = cells.ends[refinement.places]
    counts = [count_cells(sorted_keys, starts, int(end)) for starts, end in zip(refinement.starts, ends, strict=True)]
    return np.stack(counts)


def cut(cells: Cells, refinement: Refinement, counts: IntArray, step: str) -> Cells:
    """The cells once the refinement cut some, by the summed `counts` of the new ones.

    Raises ProtocolError where the new cells do not hold the rows of the one that they are made of.
    """
    if (counts < 0).any() or (counts.sum(axis=1) != cells.counts[refinement.places]).any():
        raise ProtocolError(
            f"counts of rows do not fit together in {step}",
            expected="the rows of a cell in the cells that it is cut into",
            got="other sums",
            cure="a party counted other rows than before, or sent what it did not count: the ledgers hold the digests",
        )
    kept = np.ones(cells.starts.size, dtype=np.bool_)
    kept[refinement.places] = False
    starts = np.concatenate([cells.starts[kept], refinement.starts.ravel()])
    all_counts = np.concatenate([cells.counts[kept], counts.ravel()])
    order = np.argsort(starts, kind="stable")
    starts, all_counts = starts[order], all_counts[order]
    # Of equal starts the last one is the cell with values; the ones before it are empty.
    is_last = np.append(starts[1:] != starts[:-1], True)
    return Cells(starts[is_last], all_counts[is_last])


def edges_of(cells: Cells, bin_count: int) -> FloatArray:
    """The upper edges of all bins but the last, ascending, at most `bin_count` - 1: bins hold about as many rows each.

    An edge lies halfway between the cells with rows on its two sides. Where no more than `bin_count` cells hold rows,
    each becomes a bin.
    """
    filled = np.flatnonzero(cells.counts)
    if filled.size <= bin_count:
        last = np.arange(filled.size - 1)
    else:
        below = np.cumsum(cells.counts[filled])
        targets = below[-1] * np.arange(1, bin_count) / bin_count
        # The cell whose end comes nearest to the wanted share of rows.
        upper = np.minimum(np.searchsorted(below, targets), filled.size - 1)
        lower = np.maximum(upper - 1, 0)
        nearest = np.where(targets - below[lower] < below[upper] - targets, lower, upper)
        last = np.unique(nearest[nearest < filled.size - 1])
    if not last.size:
        return np.zeros(0)
    low = values_of(cells.ends[filled[last]] - 1)
    high = values_of(cells.starts[filled[last + 1]])
    middle = low + (high - low) / 2
    edges: FloatArray = np.where(middle < high, middle, low)
    return edges


def bin_counts_of(cells: Cells, edges: FloatArray) -> IntArray:
    """The rows of each bin, one more than `edges`; no edge cuts a cell with rows."""
    filled = cells.counts > 0
    bins = np.searchsorted(edges, values_of(cells.starts[filled]))
    counts: IntArray = np.zeros(edges.size + 1, dtype=np.int64)
    np.add.at(counts, bins, cells.counts[filled])
    return counts
