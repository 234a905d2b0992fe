"""Signed integers as two's complement limbs, and back, without a branch on a value that is an int64."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from hekat.array_module import array_module
from hekat.engine.limbs import LIMB_BITS, LimbArray, ints_from_limbs, limbs_from_ints

IntegerArray = npt.NDArray[Any]
"""int64, or Python integers of any size in an array of objects."""


def limbs_from_integers(integers: IntegerArray, limb_count: int) -> LimbArray:
    """`integers` of any shape in C order as limbs (count, limb_count); the caller knows that they fit."""
    flat = integers.ravel()
    if flat.dtype == object:
        return limbs_from_signed_ints(flat.tolist(), limb_count)
    limbs: LimbArray = array_module(flat).empty((flat.size, limb_count), dtype=np.uint64)
    limbs[:, 0] = flat.view(np.uint64)
    limbs[:, 1:] = (flat >> np.int64(63)).view(np.uint64)[:, None]
    return limbs


def limbs_from_signed_ints(values: Sequence[int], limb_count: int) -> LimbArray:
    """Python integers as limbs (count, limb_count); the caller knows that they fit."""
    mask = (1 << (LIMB_BITS * limb_count)) - 1
    return limbs_from_ints([value & mask for value in values], limb_count)


def integers_from_limbs(limbs: LimbArray) -> IntegerArray:
    """The integers in limbs (count, limbs), shape (count,): int64 for one limb, Python integers for more."""
    if limbs.shape[-1] == 1:
        return np.ascontiguousarray(limbs)[:, 0].view(np.int64)
    width = LIMB_BITS * limbs.shape[-1]
    sign, modulus = 1 << (width - 1), 1 << width
    return as_objects([value - modulus if value & sign else value for value in ints_from_limbs(limbs)])


def as_objects(values: list[int]) -> IntegerArray:
    """Python integers as an array of objects, shape (count,), whatever their size."""
    array = np.empty(len(values), dtype=object)
    array[:] = values
    return array


def sign_masks(limbs: LimbArray) -> LimbArray:
    """All ones for negative values, zero for others: shape (..., 1)."""
    # Negating 0 or 1 in unsigned arithmetic gives the mask.
    masks: LimbArray = -(limbs[..., -1:] >> np.uint64(LIMB_BITS - 1))
    return masks


def resize_signed(limbs: LimbArray, limb_count: int) -> LimbArray:
    """The same signed values with `limb_count` limbs; the caller knows that they fit."""
    missing = limb_count - limbs.shape[-1]
    if missing <= 0:
        return limbs[..., :limb_count]
    xp = array_module(limbs)
    signs = xp.broadcast_to(sign_masks(limbs), (*limbs.shape[:-1], missing))
    wide: LimbArray = xp.concatenate([limbs, signs], axis=-1)
    return wide
