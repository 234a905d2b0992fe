"""Batches of rows, drawn once from the job's seed and kept for good.

The rows of a batch follow from PCG64's raw numbers and a stable sort. NumPy keeps both from version to version, but not
the permutation of a Generator.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

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


def draw_order(row_count: int, seed: int) -> IntArray:
    """Draw an order (rows,) of all rows from the job's seed and their number."""
    raw = np.random.PCG64(np.random.SeedSequence([seed, row_count])).random_raw(row_count)
    return np.argsort(raw, kind="stable").astype(np.int64)


def batch_count(row_count: int, batch_rows: int) -> int:
    """How many batches `draw_batches` draws."""
    return 1 if batch_rows == 0 else -(-row_count // batch_rows)
