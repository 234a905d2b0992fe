"""Signed plaintexts between two's complement limbs and residues mod n, without a branch on a value."""

from __future__ import annotations

import numpy as np

from hekat.engine.interface import Engine
from hekat.engine.limbs import LIMB_BITS, LimbArray, limbs_for_bits, limbs_from_ints
from hekat.errors import BoundError
from hekat.plaintext_space import PackedPlaintext


def sign_masks(limbs: LimbArray) -> LimbArray:
    """All ones for negative values, zero for others: shape (..., 1)."""
    # Negating 0 or 1 in unsigned arithmetic gives the mask.
    return np.asarray(np.uint64(0) - (limbs[..., -1:] >> np.uint64(LIMB_BITS - 1)))


def resize_signed(limbs: LimbArray, limb_count: int) -> LimbArray:
    """The same signed values with `limb_count` limbs; the caller knows that they fit."""
    missing = limb_count - limbs.shape[-1]
    if missing <= 0:
        return limbs[..., :limb_count]
    return np.concatenate([limbs, np.broadcast_to(sign_masks(limbs), (*limbs.shape[:-1], missing))], axis=-1)


def residues_of_signed(limbs: LimbArray, n: int, engine: Engine) -> LimbArray:
    """Signed values m with |m| <= (n-1)/2 as canonical limbs of m mod n, as many limbs as n has."""
    limb_count = limbs_for_bits(n.bit_length())
    signed = resize_signed(limbs, limb_count)
    n_limbs = limbs_from_ints([n], limb_count)
    # The carry out of the top limb is 2^(64 k) of the two's complement; without it m + n is left.
    return engine.int_add(signed, sign_masks(limbs) & n_limbs)[..., :limb_count]


def signed_of_residues(limbs: LimbArray, n: int, engine: Engine) -> LimbArray:
    """Canonical residues mod n as two's complement of the representative in (-n/2, n/2], limbs as n has."""
    limb_count = limbs_for_bits(n.bit_length())
    _, is_positive = engine.int_sub(limbs, limbs_from_ints([n // 2 + 1], limb_count))
    negative_masks = is_positive[..., np.newaxis].astype(np.uint64) - np.uint64(1)
    minus_n = limbs_from_ints([(1 << (LIMB_BITS * limb_count)) - n], limb_count)
    return engine.int_add(limbs, negative_masks & minus_n)[..., :limb_count]


def check_within_bound(limbs: LimbArray, bound: int, engine: Engine, what: str) -> None:
    """Raise BoundError, without the value, where a signed value leaves [-bound, bound]."""
    if not limbs.size:
        return
    limb_count = max(limbs.shape[-1], limbs_for_bits(bound.bit_length() + 2))
    # m + bound lies in [0, 2 bound]; below -bound it wraps to a number far above.
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
    wrap = 1 << (LIMB_BITS * limb_count)
    return PackedPlaintext(limbs_from_ints([value % wrap for value in values], limb_count), bound)
