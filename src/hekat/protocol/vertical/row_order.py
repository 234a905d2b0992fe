"""An order of rows that follows from a job's seed, the same at every party and in every version.

It follows from PCG64's raw numbers and a stable sort. NumPy keeps both from version to version, but not the permutation
of a Generator.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

IntArray = npt.NDArray[np.int64]


def draw_order(row_count: int, seed: int) -> IntArray:
    """Draw an order (rows,) of all rows from the job's seed and their number."""
    raw = np.random.PCG64(np.random.SeedSequence([seed, row_count])).random_raw(row_count)
    return np.argsort(raw, kind="stable").astype(np.int64)
