"""Signed plaintexts as two's complement limbs: representatives mod n, bounds, without a branch on a value.

Limbs on a device stay there; the caller has to be within `engine.active`.
"""

from __future__ import annotations

import numpy as np

from hekat.array_module import array_module
from hekat.engine.interface import BoolArray, Engine
from hekat.engine.limbs import LIMB_BITS, LimbArray, limbs_for_bits, limbs_from_ints
from hekat.engine.signed_limbs import limbs_from_signed_ints, resize_signed
from hekat.errors import BoundError
from hekat.plaintext_space import PackedPlaintext


def signed_of_sums(limbs: LimbArray, n: int, engine: Engine) -> LimbArray:
    """Values below 2 n, reduced mod n into (-n/2, n/2], as two's complement with as many limbs as n."""
    limb_count = limbs_for_bits(n.bit_length())
    wrap = 1 << (LIMB_BITS * limb_count)
    ends = limbs_from_ints([n // 2 + 1, n + n // 2 + 1], limbs.shape[-1])
    above_half, above_all = (masks_of_not(engine.int_sub(limbs, end)[1]) for end in ends)
    minus_n, minus_two_n = array_module(limbs).asarray(
        limbs_from_ints([wrap - n, (2 * wrap - 2 * n) % wrap], limb_count)
    )
    # A value above the second end is above the first too.
    addends = above_half & minus_n
    addends ^= above_all & (minus_n ^ minus_two_n)
    return engine.int_add(limbs[..., :limb_count], addends)[..., :limb_count]


def masks_of_not(flags: BoolArray) -> LimbArray:
    """All ones where a flag is not set, zero where it is: shape (..., 1)."""
    return flags[..., np.newaxis].astype(np.uint64) - np.uint64(1)


def check_within_bound(limbs: LimbArray, bound: int, engine: Engine, what: str) -> None:
    """Raise BoundError, without the value, where a signed value leaves [-bound, bound]."""
    if not limbs.size:
        return
    limb_count = max(limbs.shape[-1], limbs_for_bits(bound.bit_length() + 1))
    # m + bound lies in [0, 2 bound] for every m within the bound; for m below -bound it wraps to at least half of all
    # numbers plus bound, which is above 2 bound.
    shifted = engine.int_add(resize_signed(limbs, limb_count), limbs_from_ints([bound], limb_count))[..., :limb_count]
    _, is_beyond = engine.int_sub(limbs_from_ints([2 * bound], limb_count), shifted)
    if is_beyond.any():
        raise BoundError(
            f"{what} holds values beyond its bound",
            expected=f"magnitudes of at most {bound.bit_length()} bits",
            got="a larger one",
            cure="state the true bound; if these are ciphertexts of others, do not use them",
        )


def plaintext_from_ints(values: list[int], bound: int) -> PackedPlaintext:
    """Python integers as packed plaintexts. Raises BoundError where one passes the bound, without the value."""
    if any(abs(value) > bound for value in values):
        raise BoundError(
            "a plain integer is beyond the plaintext space",
            expected=f"magnitudes of at most {bound.bit_length()} bits",
            got="a larger one",
            cure="use a larger key or smaller integers",
        )
    limb_count = limbs_for_bits(bound.bit_length() + 1)
    return PackedPlaintext(limbs_from_signed_ints(values, limb_count), bound)
