"""Random integers as limbs, from the operating system's randomness: schemes draw their secrets here."""

from __future__ import annotations

import os

import numpy as np

from hekat.engine.interface import BoolArray
from hekat.engine.limbs import LIMB_BITS, LimbArray, limbs_for_bits, limbs_from_ints
from hekat.errors import InputError


class HostRandom:
    """The random operations of an engine whose limbs lie on the host."""

    def int_sub(self, a: LimbArray, b: LimbArray) -> tuple[LimbArray, BoolArray]:
        """The engine's own."""
        raise NotImplementedError

    def random_bits(self, count: int, bits: int) -> LimbArray:
        """Uniform integers below 2^bits, shape (count, limbs)."""
        return random_bits(count, bits)

    def random_below(self, count: int, bound: int) -> LimbArray:
        """Uniform integers in [0, bound) by rejection, shape (count, limbs); exactly uniform, no modular bias."""
        check_random_below(count, bound)
        bits = bound.bit_length()
        limbs = drawn = random_bits(count, bits)
        bound_limbs = limbs_from_ints([bound], limbs.shape[1])
        pending = np.arange(count)
        while pending.size:
            _, is_below = self.int_sub(drawn, bound_limbs)
            pending = pending[~is_below]
            limbs[pending] = drawn = random_bits(pending.size, bits)
        return limbs


def random_bits(count: int, bits: int) -> LimbArray:
    """Uniform integers below 2^bits on the host, shape (count, limbs)."""
    check_random_bits(count, bits)
    limb_count = limbs_for_bits(bits)
    limbs = np.frombuffer(os.urandom(8 * count * limb_count), "<u8").astype(np.uint64).reshape(count, limb_count)
    limbs[:, -1] >>= np.uint64(LIMB_BITS * limb_count - bits)
    return limbs


def check_random_bits(count: int, bits: int) -> None:
    """Raise InputError unless there are 0 or more integers of at least one bit to draw."""
    if count < 0 or bits < 1:
        raise InputError("no random integers can be drawn", expected="count >= 0, bits >= 1", got=f"{count}, {bits}")


def check_random_below(count: int, bound: int) -> None:
    """Raise InputError unless there are 0 or more integers to draw and one to draw them from."""
    if count < 0 or bound < 1:
        # The bound may be secret.
        raise InputError(
            "no random integers can be drawn", expected="count >= 0, bound >= 1", got=f"count {count} and this bound"
        )
