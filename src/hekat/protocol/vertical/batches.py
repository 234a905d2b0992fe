"""Batches of rows, drawn once from the job's seed and kept for good.

Which rows a batch has follows from `protocol.vertical.row_order`.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from hekat.protocol.vertical.row_order import draw_order

IntArray = npt.NDArray[np.int64]


def draw_batches(row_count: int, batch_rows: int, seed: int) -> list[IntArray]:
    """Draw the row numbers of each batch, ascending, every row once; `batch_rows` 0 puts all rows into one batch.

    Batches have at most `batch_rows` rows, and their sizes differ by at most one row: a short last batch would tell
    more of each of its rows than the other batches tell of theirs.
    """
    if row_count == 0:
        return []
    order = draw_order(row_count, seed)
    return [np.sort(part) for part in np.array_split(order, batch_count(row_count, batch_rows))]


def batch_count(row_count: int, batch_rows: int) -> int:
    """How many batches `draw_batches` draws."""
    return 1 if batch_rows == 0 else -(-row_count // batch_rows)
