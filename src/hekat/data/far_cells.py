"""Finds cells that lie far from all others of their column: a slip of the pen, another unit, a code for "unknown"."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from hekat.data.check import find_constant_columns
from hekat.data.columns.specs import ColumnSpecs
from hekat.data.features import FloatArray, is_dense
from hekat.data.table import Table
from hekat.first_few import first_few

# A cell is far where its distance from the column's middle is so many times the distance of the next nearer one...
FAR_TIMES = 100.0
# ... and no more than this share of the cells lies as far: more of them are a part of the column.
_MOST_SHARE = 0.1
# Too few rows to know a column by.
_LEAST_ROWS = 10
# The rows that tell which columns are worth sorting.
_SAMPLE_ROWS = 10_000
# A sentence names so many rows of a column, or so many columns, and counts the others.
_MOST_NAMED = 3


@dataclass(frozen=True)
class FarCells:
    """Cells of one column; `rows` are the first of them, counted from 1."""

    column: str
    rows: tuple[int, ...]
    count: int

    def describe(self) -> str:
        """A sentence for the owner of the table; it names no value."""
        more = self.count - len(self.rows)
        places = ", ".join(f"{row:,}" for row in self.rows) + (f" and {more:,} more" if more else "")
        what = f"row {places} lies" if self.count == 1 else f"rows {places} lie"
        return (
            f"column {self.column!r}: {what} {FAR_TIMES:g} times as far from the middle as all others: look at "
            f"{'that cell' if self.count == 1 else 'these cells'}"
        )


def with_notes_on_cells(table: Table, specs: ColumnSpecs | None = None) -> Table:
    """`table` with `notes_on_cells` among its notes."""
    return replace(table, notes=(*table.notes, *notes_on_cells(table, specs)))


def notes_on_cells(table: Table, specs: ColumnSpecs | None = None) -> tuple[str, ...]:
    """Sentences for the owner of `table` on cells and columns that a model learns nothing good from.

    Columns that the job's description keeps spare may be empty.
    """
    notes = [found.describe() for found in find_far_cells(table)]
    constant = find_constant_columns(table) if len(table) >= _LEAST_ROWS else ()
    constant = tuple(name for name in constant if specs is None or not specs.is_spare(name))
    if constant:
        names = first_few([*map(repr, constant)], _MOST_NAMED)
        notes.append(f"{len(constant)} of {len(table.feature_names)} columns hold one value in every row: {names}")
    return tuple(notes)


def find_far_cells(table: Table) -> tuple[FarCells, ...]:
    """The far cells of each column of dense rows; none of sparse rows, where most cells are 0.

    A column's middle is its median. A gap of FAR_TIMES in the sorted distances from it parts far cells from the others;
    a long tail, such as an income's, has no such gap.
    """
    features = table.features
    if not is_dense(features) or len(table) < _LEAST_ROWS:
        return ()
    features = _without_gaps(features)
    sample = features[:: max(1, len(table) // _SAMPLE_ROWS)]
    middle = np.median(sample, axis=0)
    usual = np.quantile(np.abs(sample - middle), 1 - _MOST_SHARE, axis=0)
    largest = np.maximum(features.max(axis=0) - middle, middle - features.min(axis=0))
    found = []
    for column in np.flatnonzero(largest > FAR_TIMES * usual):
        rows = _far_rows(np.abs(features[:, column] - np.median(features[:, column])))
        if rows.size:
            named = tuple(int(row) + 1 for row in rows[:_MOST_NAMED])
            found.append(FarCells(table.feature_names[int(column)], named, int(rows.size)))
    return tuple(found)


def _without_gaps(features: FloatArray) -> FloatArray:
    """`features` with the median of its column in place of each cell that is still to be filled."""
    is_gap = np.isnan(features)
    if not is_gap.any():
        return features
    medians = [
        np.median(column[~gaps]) if not gaps.all() else 0.0 for column, gaps in zip(features.T, is_gap.T, strict=True)
    ]
    return np.where(is_gap, medians, features)


def _far_rows(distances: FloatArray) -> np.typing.NDArray[np.int64]:
    """The rows beyond the lowest gap that leaves few enough of them; a distance of 0 is no measure for a gap."""
    order = np.argsort(distances, kind="stable")
    ordered = distances[order]
    first = max(len(ordered) - max(1, int(_MOST_SHARE * len(ordered))), 1)
    gaps = np.flatnonzero((ordered[first:] > FAR_TIMES * ordered[first - 1 : -1]) & (ordered[first - 1 : -1] > 0))
    if not gaps.size:
        return np.empty(0, dtype=np.int64)
    return np.sort(order[first + int(gaps[0]) :])
