"""A party's columns as a sealed network multiplies them: integers, the guest's with the column of ones before them."""

from __future__ import annotations

import numpy as np

from hekat.protocol.vertical_network.fixed_point import FEATURE_BITS, FloatArray, IntArray, Rounding


def sealed_columns(columns: FloatArray, rounding: Rounding, *, is_guest: bool) -> IntArray:
    """Prepared columns (rows, columns) at 2^-16, (rows, own width).

    Raises InputError for NaN or infinity, BoundError where too many lie beyond 8.
    """
    integers = rounding.round(columns) if columns.size else np.zeros(columns.shape, np.int64)
    if not is_guest:
        return integers
    return np.concatenate((np.full((len(columns), 1), 1 << FEATURE_BITS, np.int64), integers), axis=1)
