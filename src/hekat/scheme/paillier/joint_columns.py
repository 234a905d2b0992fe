"""Plans sums by bins of several columns so that columns share additions.

Rows with the same bins in each of a few columns are added once, into a cell; each column's sums are then sums of the
few cells. For two columns of 32 bins and n rows of one segment that takes n additions and at most 2 * 1024 more, in
place of 2 n. Which columns share is decided by counting cells, so that nothing is ever added more often than without.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from hekat.engine.interface import IndexArray
from hekat.engine.reduction_groups import renumber

# Counting cells takes memory for all that there might be.
MOST_POSSIBLE_CELLS: Final = 1 << 22


@dataclass(frozen=True)
class SumPlan:
    """Row `places[i]` enters cell `cells[i]`, of `cell_count`; then cell `parts[j]` enters sum `sums[j]`."""

    cells: IndexArray
    places: IndexArray
    cell_count: int
    sums: IndexArray
    parts: IndexArray

    @property
    def addition_count(self) -> int:
        """Ciphertexts that are added."""
        return self.places.size + self.parts.size


@dataclass(frozen=True)
class _Group:
    """Columns that share cells: the cell of each place."""

    columns: tuple[int, ...]
    cells: IndexArray
    cell_count: int


def plan_sums(digits: npt.NDArray[Any], segments: IndexArray, bin_count: int) -> SumPlan:
    """The plan for the sums by segment and digit: sum (s, d) has number s * bin_count + d.

    `digits`: integers (columns, places) below `bin_count`, -1 for absent; `segments` (places,): of each place.
    """
    cells, places, sums, parts = ([np.zeros(0, np.int64)] for _ in range(4))
    cell_count = 0
    for group in _grouped(digits, segments):
        own = digits[list(group.columns)]
        used = np.flatnonzero((own >= 0).any(axis=0))
        cells.append(group.cells[used] + cell_count)
        places.append(used)
        # All places of a cell have its digits and its segment: any of them tells them.
        of_cell = np.zeros(group.cell_count, np.int64)
        of_cell[group.cells] = np.arange(len(segments), dtype=np.int64)
        column, cell = np.nonzero(own[:, of_cell] >= 0)
        place = of_cell[cell]
        sums.append(segments[place] * bin_count + own[column, place])
        parts.append(cell + cell_count)
        cell_count += group.cell_count
    joined = (np.concatenate(pieces).astype(np.int64, copy=False) for pieces in (cells, places, sums, parts))
    return SumPlan(next(joined), next(joined), cell_count, next(joined), next(joined))


def _grouped(digits: npt.NDArray[Any], segments: IndexArray) -> Iterator[_Group]:
    """Columns with few digits first, each beside the columns before it as long as that saves additions."""
    place_count = len(segments)
    if not place_count:
        return
    lowest = np.where(digits >= 0, digits, digits.max(initial=0)).min(axis=1)
    local = np.maximum(digits - lowest[:, np.newaxis] + 1, 0)  # 0 for absent
    sizes = local.max(axis=1, initial=0).astype(np.int64) + 1
    group = None
    for column in np.argsort(sizes, kind="stable").tolist():
        if group is not None:
            joint = _joined(group, local[column], int(sizes[column]), column)
            if joint is not None and _additions(joint, place_count) < _additions(group, place_count) + place_count:
                group = joint
                continue
            yield group
        alone = renumber(segments * sizes[column] + local[column], int(segments.max() + 1) * int(sizes[column]))
        group = _Group((column,), alone[1], alone[0].size)
    if group is not None:
        yield group


def _joined(group: _Group, local: IndexArray, size: int, column: int) -> _Group | None:
    """The group with one more column; None where there might be too many cells to count."""
    possible = group.cell_count * size
    if possible > MOST_POSSIBLE_CELLS:
        return None
    numbers, cells = renumber(group.cells * size + local, possible)
    return _Group((*group.columns, column), cells, numbers.size)


def _additions(group: _Group, place_count: int) -> int:
    """A cell of a single column is a sum already."""
    return place_count + (group.cell_count * len(group.columns) if len(group.columns) > 1 else 0)
