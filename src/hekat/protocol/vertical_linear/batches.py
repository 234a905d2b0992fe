"""Batches of rows, drawn once from the job's seed and kept for good.

Their rows follow from PCG64's raw numbers and a stable sort, which NumPy keeps from version to version; a Generator's
permutation it does not.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

IntArray = npt.NDArray[np.int64]


def draw_batches(row_count: int, batch_rows: int, seed: int) -> list[IntArray]:
    """Row numbers of each batch, ascending, every row once; `batch_rows` 0 puts all rows into one.

    Batches have at most `batch_rows` rows and differ by at most one: a short last batch would tell more of each of its
    rows than the others do of theirs.
    """
    if row_count == 0:
        return []
    count = batch_count(row_count, batch_rows)
    raw = np.random.PCG64(np.random.SeedSequence([seed, row_count])).random_raw(row_count)
    order = np.argsort(raw, kind="stable").astype(np.int64)
    return [np.sort(part) for part in np.array_split(order, count)]


def batch_count(row_count: int, batch_rows: int) -> int:
    """How many batches `draw_batches` cuts."""
    return 1 if batch_rows == 0 else -(-row_count // batch_rows)
