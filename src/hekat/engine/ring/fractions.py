"""Numbers known by their residues as fractions of their modulus, in fixed-point arithmetic of digits.

The constants and the sums of `hekat.engine.ring.interface.RingEngine.ring_round`; constant-time in the residues.
"""

from __future__ import annotations

from functools import lru_cache
from math import prod
from typing import Final

import numpy as np

from hekat.engine.ring.interface import RingArray

# Residues below 2^50 are two digits: sums of all products in a column stay below 2^55.
DIGIT_BITS: Final = 25
_DIGIT_MASK = np.uint64((1 << DIGIT_BITS) - 1)
_LIMB_BITS = 64
_KEPT_TABLES = 64


@lru_cache(maxsize=_KEPT_TABLES)
def fraction_digits(primes: tuple[int, ...], digit_bits: int, fraction_bits: int) -> RingArray:
    """The digits of ceil(2^f w_i / p_i) mod 2^f for each prime, least significant first, (primes, digits); read only.

    f is `fraction_bits`, of at least `least_fraction_bits`.
    """
    modulus, count = prod(primes), -(-fraction_bits // digit_bits)
    weights = [pow(modulus // p, -1, p) for p in primes]
    factors = [-(-(w << fraction_bits) // p) % (1 << fraction_bits) for w, p in zip(weights, primes, strict=True)]
    digits = [[x >> i * digit_bits & (1 << digit_bits) - 1 for i in range(count)] for x in factors]
    made = np.array(digits, np.uint64)
    made.flags.writeable = False
    return made


def least_fraction_bits(primes: tuple[int, ...], bits: int) -> int:
    """The least f with 2^f >= 2^bits q sum p_i, or one more."""
    return bits + (prod(primes) * sum(primes)).bit_length()


def floor_fractions(primes: tuple[int, ...], residues: RingArray, bits: int) -> RingArray:
    """`ring_round` of checked residues, with NumPy."""
    # Whole digits stand behind the point, so that the result begins with one.
    behind = -(-(least_fraction_bits(primes, bits) - bits) // DIGIT_BITS)
    factors = fraction_digits(primes, DIGIT_BITS, bits + behind * DIGIT_BITS)
    shifted = np.pad(factors, ((0, 0), (1, 0)))[:, :-1]
    sums = (residues & _DIGIT_MASK) @ factors + (residues >> np.uint64(DIGIT_BITS)) @ shifted
    limbs = np.zeros((len(residues), 2), np.uint64)
    carry = np.zeros(len(residues), np.uint64)
    for i, column in enumerate(sums.T):
        total = column + carry
        carry = total >> np.uint64(DIGIT_BITS)
        if i >= behind:
            _add_digit(limbs, total & _DIGIT_MASK, (i - behind) * DIGIT_BITS)
    kept = [(1 << bits) - 1 >> shift & (1 << _LIMB_BITS) - 1 for shift in (0, _LIMB_BITS)]
    return limbs & np.array(kept, np.uint64)


def _add_digit(limbs: RingArray, digit: RingArray, shift: int) -> None:
    """limbs += digit 2^shift mod 2^128, where no digit reaches into another."""
    number, place = divmod(shift, _LIMB_BITS)
    limbs[:, number] |= digit << np.uint64(place)
    if number == 0 and place:
        limbs[:, 1] |= digit >> np.uint64(_LIMB_BITS - place)
