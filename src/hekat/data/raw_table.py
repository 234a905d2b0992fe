"""A table as it was read: each column numbers with gaps, or texts; not yet what a model takes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from hekat.data.features import FloatArray
from hekat.data.ids import Ids

IntArray = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False, repr=False)
class TextColumn:
    """`codes` (rows,) are positions in `texts`, -1 for an empty cell."""

    codes: IntArray
    texts: tuple[str, ...]


RawColumn: TypeAlias = FloatArray | TextColumn


@dataclass(frozen=True, eq=False, repr=False)
class RawTable:
    """Columns by name in the source's order; NaN is an empty cell. `lines` are the rows' line numbers in their file.

    `decimal` is the decimal sign of numbers among texts; `notes` say what was left out as it was read.
    """

    name: str
    columns: Mapping[str, RawColumn]
    row_count: int
    labels: npt.NDArray[Any] | None = None
    ids: Ids | None = None
    lines: IntArray | None = None
    decimal: str = "."
    notes: tuple[str, ...] = ()

    def place(self, row: int) -> str:
        """Where a row (0 is the first) is found: its line in the file, or its number among the rows."""
        return f"row {row + 1}" if self.lines is None else f"line {int(self.lines[row])}"
