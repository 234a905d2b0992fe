"""Powers of two as scales: the exponents by which parties say, in encrypted counts, how large their values are."""

from __future__ import annotations

import numpy as np

from hekat.codec.clip import FloatArray

LEAST_EXPONENT = -40
MOST_EXPONENT = 40


def exponents_of(values: FloatArray) -> np.ndarray[tuple[int, ...], np.dtype[np.int64]]:
    """The least e with |value| <= 2^e; LEAST_EXPONENT for zero."""
    mantissas, exponents = np.frexp(np.abs(values))
    exact_powers = mantissas == 0.5
    least = exponents.astype(np.int64) - exact_powers
    return np.where(mantissas == 0, LEAST_EXPONENT, least)
