"""Signed integers of NumPy as two's complement limbs and back: int64 in one limb, Python integers in two."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from hekat.engine.limbs import LimbArray, ints_from_limbs, limbs_from_ints
from hekat.errors import BoundError

WIDE_BITS = 127
_WRAP = 1 << 128

IntegerArray = npt.NDArray[Any]
"""int64, or Python integers of at most 127 bits in an array of objects."""


def limbs_of(values: IntegerArray) -> LimbArray:
    """`values` in C order as limbs (count, 1) of int64, else (count, 2). Raises BoundError beyond WIDE_BITS."""
    flat = values.ravel()
    if flat.dtype != object:
        return np.ascontiguousarray(flat, np.int64).view(np.uint64)[:, np.newaxis]
    numbers = [int(value) for value in flat]
    if any(abs(number) >> WIDE_BITS for number in numbers):
        raise BoundError("an integer passes its bound", expected=f"magnitudes below 2^{WIDE_BITS}", got="a larger one")
    return limbs_from_ints([number % _WRAP for number in numbers], 2)


def integers_of(limbs: LimbArray) -> IntegerArray:
    """What limbs (count, 1 or 2) hold, shape (count,): int64 for one limb, Python integers for two."""
    if limbs.shape[-1] == 1:
        return np.ascontiguousarray(limbs[:, 0]).view(np.int64)
    return as_objects([number - _WRAP if number >> WIDE_BITS else number for number in ints_from_limbs(limbs)])


def as_objects(numbers: list[int]) -> IntegerArray:
    """Python integers as an array of objects, shape (count,), whatever their size."""
    array = np.empty(len(numbers), dtype=object)
    array[:] = numbers
    return array
