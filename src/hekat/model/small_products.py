"""Products of a batch's rows with small weights, in pieces that BLAS computes on the calling thread.

OpenBLAS divides a product of more than 2^18 multiplications, or of a vector with more than 9,216 numbers, among
threads, which then wait awake for some 25 ms: the layers of a small network keep a processor from whatever comes next.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import numpy as np

from hekat.model.parameters import Features, FloatArray

_MOST_MULTIPLICATIONS: Final = 1 << 18
_MOST_NUMBERS: Final = 1 << 13
# Shorter pieces would cost more than threads do.
_LEAST_ROWS: Final = 64


def multiply_rows(values: Features, weight: FloatArray) -> FloatArray:
    """values @ weight, of (rows, n) and (n, k)."""
    if not isinstance(values, np.ndarray):
        return np.asarray(values @ weight)  # sparse rows, which BLAS does not see
    product = np.empty((len(values), weight.shape[1]))
    for piece in pieces_of(len(values), *weight.shape):
        np.matmul(values[piece], weight, out=product[piece])
    return product


def multiply_columns(values: Features, slopes: FloatArray) -> FloatArray:
    """values.T @ slopes, of (rows, n) and (rows, k): the sum over rows."""
    if not isinstance(values, np.ndarray):
        return np.asarray(values.T @ slopes)
    total = np.zeros((values.shape[1], slopes.shape[1]))
    for piece in pieces_of(len(values), *total.shape):
        total += values[piece].T @ slopes[piece]
    return total


def pieces_of(rows: int, inputs: int, outputs: int) -> Iterator[slice]:
    """Slices of all rows in their order, one at least; a single one where larger weights are worth threads."""
    sizes = max(1, inputs * outputs), max(1, inputs, outputs)
    most = min(_MOST_MULTIPLICATIONS // sizes[0], _MOST_NUMBERS // sizes[1])
    if most < _LEAST_ROWS or rows <= most:
        yield slice(0, rows)
        return
    for first in range(0, rows, most):
        yield slice(first, min(first + most, rows))
