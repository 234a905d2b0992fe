"""Rows that training leaves out, to measure on: the same common rows at every party."""

from __future__ import annotations

from typing import Final

import numpy as np

from hekat.data import Table
from hekat.protocol.vertical.row_order import draw_order

MAX_HOLD_OUT: Final = 0.9


def count_held_out(row_count: int, fraction: float) -> int:
    """How many of `row_count` common rows are held out: at least one where the fraction is above 0."""
    return max(1, round(fraction * row_count)) if fraction else 0


def hold_out_rows(table: Table, fraction: float, seed: int) -> tuple[Table, Table | None]:
    """Split common rows, which are in one order at all parties: the rows to train on, and the rows held out.

    Which rows these are follows from the seed and the number of rows. `fraction` 0 holds out none: None.
    """
    count = count_held_out(len(table), fraction)
    if not count:
        return table, None
    order = draw_order(len(table), seed)
    return table.take(np.sort(order[count:])), table.take(np.sort(order[:count]))
