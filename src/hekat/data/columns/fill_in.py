"""Puts what stands for empty cells into features."""

from __future__ import annotations

import numpy as np

from hekat.data.features import Features, FloatArray, is_dense


def fill_in(features: Features, fill: FloatArray | None) -> Features:
    """`features` with the column's entry of `fill` in place of each NaN; themselves where there is nothing to fill."""
    if fill is None:
        return features
    if not is_dense(features):
        filled = features.copy()
        filled.data = np.where(np.isnan(features.data), fill[features.indices], features.data)
        return filled
    rows, columns = np.nonzero(np.isnan(features))
    if not rows.size:
        return features
    dense = features.copy()
    dense[rows, columns] = fill[columns]
    return dense
