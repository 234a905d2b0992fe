"""Products of integer matrices without rounding or overflow, for protection `none`."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

IntArray = npt.NDArray[np.int64]

# Digits of 20 bits: a sum of 2^23 products of two of them stays within int64.
DIGIT_BITS = 20
MAX_TERMS = 1 << 23


def multiply_exactly(matrix: Any, values: IntArray) -> npt.NDArray[Any]:
    """matrix (m, rows) @ values (rows, K) of int64, as Python integers (m, K); the matrix is dense or in SciPy's
    CSR."""
    total = np.zeros((matrix.shape[0], values.shape[1]), dtype=object)
    for start in range(0, matrix.shape[1], MAX_TERMS):
        rows = slice(start, start + MAX_TERMS)
        for i, left in enumerate(_digits_of_matrix(matrix[:, rows])):
            for j, right in enumerate(_digits(values[rows])):
                total += np.asarray(left @ right).astype(object) << (DIGIT_BITS * (i + j))
    return total


def _digits(values: IntArray) -> list[IntArray]:
    """Signed digits, the lowest first: values = sum of digit_i 2^(20 i)."""
    digits: list[IntArray] = []
    rest = values
    while True:
        if not rest.size or (rest.min() > -(1 << DIGIT_BITS) and rest.max() < 1 << DIGIT_BITS):
            return [*digits, rest]
        # An arithmetic shift rounds down, so the lower digit is never negative.
        digits.append(rest & ((1 << DIGIT_BITS) - 1))
        rest = rest >> DIGIT_BITS


def _digits_of_matrix(matrix: Any) -> list[Any]:
    if isinstance(matrix, np.ndarray):
        return list(_digits(matrix))
    parts = []
    for digits in _digits(matrix.data):
        part = matrix.copy()
        part.data = digits
        parts.append(part)
    return parts
