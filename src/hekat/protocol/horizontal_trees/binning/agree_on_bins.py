"""Bins of all columns, found together: counts of rows in cells are summed, and cells with many rows are cut and counted
again. The rows of no single party show.

1. each column's rows in cells that are quarters of powers of two, and its missing values, in one sum of all columns
2. cells with many rows are cut, as evenly as floats lie, and counted in one sum; so once more, CUTS times at most
3. a bin ends between two cells, where all rows are nearest to an even share

Columns that are 0 or 1 by the job need no sums: their two bins are known, and only their rows are counted in 1.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass

import numpy as np

from hekat.model.trees import ColumnBins
from hekat.protocol.horizontal_trees.binning.cells import (
    CELL_BUDGET,
    FINENESS,
    Cells,
    Refinement,
    bin_counts_of,
    count_cells,
    count_refinement,
    cut,
    edges_of,
    first_cells,
    refine,
)
from hekat.protocol.horizontal_trees.binning.float_keys import FloatArray, IntArray, end_key, keys_of
from hekat.protocol.horizontal_trees.check_sums import refuse_counts
from hekat.protocol.secure_sum.aggregation import Aggregation
from hekat.protocol.secure_sum.agreement.digest_arrays import digest_arrays
from hekat.protocol.secure_sum.integer_sums import sum_integers

FIRST_STEP = "start/cells"
CUTS = 5
INDICATOR_EDGES = (0.5,)


def cut_step(number: int) -> str:
    """The sum of the cells that are cut for the `number`-th time, from 1."""
    return f"start/cut-{number}"


@dataclass(frozen=True)
class AgreedBins:
    """What all parties hold: each column's bins, and the rows of all parties in each of them, missing values last."""

    columns: tuple[ColumnBins, ...]
    counts: tuple[IntArray, ...]
    row_count: int


def agree_on_bins(
    aggregation: Aggregation,
    features: FloatArray,
    *,
    max_bins: int,
    weight_max: int,
    indicators: Collection[int] = (),
    digest_key: bytes = b"",
    note: Callable[[str, str], None] = lambda step, what: None,
) -> AgreedBins:
    """Bins over the rows of all parties, from this party's `features`, float64 (rows, columns); NaN is missing.

    `indicators` are the columns that hold 0 or 1 in every row. `note` is told what each sum tells.

    Raises ProtocolError where counts do not fit together.
    """
    row_count, column_count = features.shape
    counted = [column for column in range(column_count) if column not in set(indicators)]
    keys = {column: _sorted_keys(features[:, column]) for column in counted}
    ones = [int(np.count_nonzero(features[:, column])) for column in indicators]
    first = first_cells()
    own = [count_cells(keys[column], first.starts, end_key()) for column in counted]
    missing = [row_count - keys[column].size for column in counted]
    tensors = {
        "cells": np.stack(own) if own else np.zeros((0, first.starts.size), dtype=np.int64),
        "missing": np.array(missing, dtype=np.int64),
        "ones": np.array(ones, dtype=np.int64),
        "rows": np.array([row_count], dtype=np.int64),
    }
    summed = sum_integers(aggregation, FIRST_STEP, tensors, maximum=weight_max, weight_max=weight_max).tensors
    rows = int(summed["rows"][0])
    _check_first(summed, rows)
    note(
        FIRST_STEP,
        f"the rows of all parties in {summed['cells'].size} cells of {len(counted)} columns, in all, "
        f"without a value, and with 1 in {len(ones)} columns of 0 and 1",
    )
    cells = {column: Cells(first.starts, counts) for column, counts in zip(counted, summed["cells"], strict=True)}
    cutting = _Cutting(aggregation, max_bins, weight_max, digest_key, note)
    cutting.cut_cells(keys, cells, rows)
    found: dict[int, tuple[ColumnBins, IntArray]] = {}
    for column, missing_rows in zip(counted, summed["missing"].tolist(), strict=True):
        edges = edges_of(cells[column], max_bins)
        found[column] = ColumnBins(edges), np.append(bin_counts_of(cells[column], edges), missing_rows)
    for column, count in zip(indicators, summed["ones"].tolist(), strict=True):
        found[column] = ColumnBins(np.array(INDICATOR_EDGES)), np.array([rows - count, count, 0])
    columns, counts = zip(*(found[column] for column in range(column_count)), strict=True)
    return AgreedBins(columns, counts, rows)


def _sorted_keys(values: FloatArray) -> IntArray:
    return np.sort(keys_of(values[~np.isnan(values)]))


def _check_first(summed: dict[str, IntArray], rows: int) -> None:
    least = min((int(part.min()) for part in summed.values() if part.size), default=0)
    by_column = summed["cells"].sum(axis=1) + summed["missing"]
    if least < 0 or rows < 1 or (by_column != rows).any() or (summed["ones"] > rows).any():
        refuse_counts(FIRST_STEP)


@dataclass(frozen=True)
class _Cutting:
    """How cells are cut and counted again, together with the other parties."""

    aggregation: Aggregation
    max_bins: int
    weight_max: int
    digest_key: bytes
    note: Callable[[str, str], None]

    def cut_cells(self, keys: dict[int, IntArray], cells: dict[int, Cells], rows: int) -> None:
        """Cut the cells that hold many rows, CUTS times at most, and tell the aggregator when that ends."""
        refinements = self._refine(cells, rows)
        self._tell(FIRST_STEP, cells, is_last=not refinements)
        for number in range(1, CUTS + 1):
            if not refinements:
                return
            step = cut_step(number)
            own = {str(c): count_refinement(keys[c], cells[c], one) for c, one in refinements.items()}
            summed = sum_integers(
                self.aggregation, step, own, maximum=self.weight_max, weight_max=self.weight_max
            ).tensors
            count = sum(part.size for part in summed.values())
            self.note(step, f"the rows of all parties in {count} smaller cells of {len(own)} columns")
            for column, one in refinements.items():
                cells[column] = cut(cells[column], one, summed[str(column)], step)
            refinements = self._refine(cells, rows) if number < CUTS else {}
            self._tell(step, cells, is_last=not refinements)

    def _refine(self, cells: dict[int, Cells], rows: int) -> dict[int, Refinement]:
        found = {column: refine(one, rows, self.max_bins) for column, one in cells.items()}
        return {column: one for column, one in found.items() if one is not None}

    def _tell(self, step: str, cells: dict[int, Cells], *, is_last: bool) -> None:
        parts = (part for one in cells.values() for part in (one.starts, one.counts))
        self.aggregation.say_next(step, digest_arrays(self.digest_key, b"cells", parts), is_last)


def most_cells(column_count: int, max_bins: int) -> int:
    """No sum of the binning has more values."""
    from_first = first_cells().starts.size + 2
    # Cells are cut into CELL_BUDGET together, or in two each: no more than FINENESS * bins hold too many rows.
    from_cut = max(CELL_BUDGET, 2 * (FINENESS * max_bins + 1))
    return column_count * max(from_first, from_cut) + 1
