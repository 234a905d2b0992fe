"""The canonical form of big integers: little-endian 64-bit limbs along the last axis."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import numpy.typing as npt

from hekat.errors import InputError

LimbArray = npt.NDArray[np.uint64]
LIMB_BITS = 64
LIMB_BYTES = 8


def limbs_for_bits(bits: int) -> int:
    """Limbs that hold `bits` bits; at least one."""
    return max(1, -(-bits // LIMB_BITS))


def limbs_from_ints(values: Iterable[int], limb_count: int) -> LimbArray:
    """Non-negative integers as limbs, shape (len(values), limb_count). Raises InputError where one does not fit."""
    width = limb_count * LIMB_BYTES
    try:
        data = b"".join(int(value).to_bytes(width, "little") for value in values)
    except OverflowError:
        raise InputError(
            "an integer does not fit into its limbs",
            expected=f"0 <= value < 2^{limb_count * LIMB_BITS}",
            got="a value outside",
            cure="reduce the value or allow more limbs",
        ) from None
    return np.frombuffer(data, dtype="<u8").reshape(-1, limb_count).astype(np.uint64)


def ints_from_limbs(limbs: LimbArray) -> list[int]:
    """The integers of a (..., limbs) array in C order, as one flat list."""
    limb_count = limbs.shape[-1]
    data = np.ascontiguousarray(limbs, dtype="<u8").tobytes()
    width = limb_count * LIMB_BYTES
    return [int.from_bytes(data[i : i + width], "little") for i in range(0, len(data), width)]


def widen(limbs: LimbArray, limb_count: int) -> LimbArray:
    """The same non-negative integers with `limb_count` limbs (zero limbs appended); never narrows."""
    missing = limb_count - limbs.shape[-1]
    if missing == 0:
        return limbs
    if missing < 0:
        raise InputError(
            "limbs would be cut off", expected=f"at most {limb_count} limbs", got=f"{limbs.shape[-1]} limbs"
        )
    padding = [(0, 0)] * (limbs.ndim - 1) + [(0, missing)]
    return np.pad(limbs, padding)


def read_from_bit(limbs: LimbArray, first_bit: int) -> LimbArray:
    """floor(integer / 2^first_bit) mod 2^64 of integers (count, limbs), shape (count,)."""
    limb, shift = divmod(first_bit, LIMB_BITS)
    field = limbs[:, limb] >> np.uint64(shift)
    if shift and limb + 1 < limbs.shape[1]:
        field |= limbs[:, limb + 1] << np.uint64(LIMB_BITS - shift)
    return field
