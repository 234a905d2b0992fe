"""Floats as whole numbers of the same order, which cells of counts are cut by."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]

LEAST_EXPONENT, MOST_EXPONENT = -64, 64
_QUARTERS = (1.0, 1.25, 1.5, 1.75)


def keys_of(values: npt.NDArray[Any]) -> IntArray:
    """A key for each float64: whole numbers in the order of the values, neighbours for neighbouring floats; 0 for both
    zeros. The values are no NaN."""
    bits = np.ascontiguousarray(values, dtype=np.float64).view(np.int64)
    keys: IntArray = np.where(bits >= 0, bits, np.int64(np.iinfo(np.int64).min) - bits)
    return keys


def values_of(keys: IntArray) -> FloatArray:
    """The float64 of each key."""
    bits = np.where(keys >= 0, keys, np.int64(np.iinfo(np.int64).min) - keys)
    return np.ascontiguousarray(bits).view(np.float64)


def first_cuts() -> IntArray:
    """The keys at which cells begin before anything is counted, ascending: quarters of powers of two, and zero alone.

    The first cell begins below all values and the last one ends above them: values beyond +-2^64 share the outermost
    cells, values nearer to 0 than 2^-64 the two beside zero.
    """
    exponents = np.arange(LEAST_EXPONENT, MOST_EXPONENT)
    positive = np.ldexp(np.array(_QUARTERS)[None, :], exponents[:, None]).ravel()
    above = np.append(positive, np.ldexp(1.0, MOST_EXPONENT))
    # A cell of negative values ends with the same value, without its sign, that one of positive values begins with.
    below = keys_of(-above[::-1]) + 1
    lowest = keys_of(np.array([-np.inf]))
    return np.concatenate([lowest, below, np.array([0, 1], dtype=np.int64), keys_of(above)])


def end_key() -> int:
    """The key at which the last cell ends: one above the key of infinity."""
    return int(keys_of(np.array([np.inf]))[0]) + 1
