"""Random integers as limbs, from the operating system's randomness: what every scheme draws its secrets with."""

from __future__ import annotations

import os

import numpy as np

from hekat.engine.interface import Engine
from hekat.engine.limbs import LIMB_BITS, LimbArray, limbs_for_bits, limbs_from_ints


def random_bits(count: int, bits: int) -> LimbArray:
    """Uniform integers below 2^bits, shape (count, limbs)."""
    limb_count = limbs_for_bits(bits)
    limbs = np.frombuffer(os.urandom(8 * count * limb_count), "<u8").astype(np.uint64).reshape(count, limb_count)
    limbs[:, -1] >>= np.uint64(LIMB_BITS * limb_count - bits)
    return limbs


def random_below(count: int, bound: int, engine: Engine) -> LimbArray:
    """Uniform integers in [0, bound) by rejection, shape (count, limbs); exactly uniform, no modular bias."""
    bits = bound.bit_length()
    limbs = drawn = random_bits(count, bits)
    bound_limbs = limbs_from_ints([bound], limbs.shape[1])
    pending = np.arange(count)
    while pending.size:
        _, is_below = engine.int_sub(drawn, bound_limbs)
        pending = pending[~is_below]
        limbs[pending] = drawn = random_bits(pending.size, bits)
    return limbs
