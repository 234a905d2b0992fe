"""Numbers as whole numbers in the same order, short enough that a few histograms find a median."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from hekat.data.features import FloatArray

KEY_BITS = 40
"""Sign, exponent and 28 bits after the leading one: numbers are rounded to 29 significant bits."""
DIGIT_BITS = 4

IntArray = npt.NDArray[np.int64]
_DROPPED_BITS = 64 - KEY_BITS
_MIDDLE = 1 << (KEY_BITS - 1)


def key_of_floats(values: FloatArray) -> IntArray:
    """Keys in [0, 2^40), in the order of the finite `values`, which may have magnitudes up to 2^1023."""
    # The bits of a positive number rise with it.
    magnitudes = np.abs(values).view(np.int64)
    rounded = (magnitudes + (1 << (_DROPPED_BITS - 1))) >> _DROPPED_BITS
    return np.where(values < 0, -rounded, rounded) + _MIDDLE


def value_of_key(key: int) -> float:
    """The number that a key stands for; infinite or NaN for a key that no finite number has."""
    signed = key - _MIDDLE
    magnitude = np.array([abs(signed) << _DROPPED_BITS], dtype=np.uint64).view(np.float64)[0]
    return float(-magnitude if signed < 0 else magnitude)


def lower_median(values: FloatArray) -> float:
    """The median of finite `values`, at least one, rounded to 29 significant bits; of two in the middle the lower."""
    keys = np.sort(key_of_floats(values))
    return value_of_key(int(keys[(keys.size - 1) // 2]))
