"""Powers and inverses mod 2^s, joined with powers and inverses mod t, the odd part of an even modulus t * 2^s.

Symbols: t the odd part, s the number of factors 2. Variable time in the exponents.
"""

from __future__ import annotations

import numpy as np

from hekat.bigint.signed import Signed, make_signed
from hekat.engine.checks import refuse_not_invertible
from hekat.engine.interface import Engine
from hekat.engine.limbs import LIMB_BITS, LimbArray, limbs_for_bits, limbs_from_ints, widen


def power_mod_two_to(engine: Engine, a: Signed, exponents: LimbArray, s: int) -> Signed:
    """a^e mod 2^s for a of shape (...) and exponents (..., e_limbs), by squaring from the top bit down."""
    base = _residues_mod_two_to(engine, a, s)
    result = _low_bits(np.ones((*a.shape, 1), np.uint64), s)
    for limb in reversed(range(exponents.shape[-1])):
        for bit in reversed(range(LIMB_BITS)):
            result = _low_bits(engine.int_mul(result, result), s)
            chosen = (exponents[..., limb] >> np.uint64(bit)) & np.uint64(1)
            multiplied = _low_bits(engine.int_mul(result, base), s)
            result = np.where(chosen[..., None].astype(np.bool_), multiplied, result)
    return make_signed(result, np.zeros(a.shape, np.bool_))


def inverse_mod_two_to(engine: Engine, a: Signed, s: int) -> Signed:
    """a^-1 mod 2^s by Newton's iteration x <- x (2 - a x), which doubles the number of right bits.

    Raises InputError naming the first even a, which has no inverse.
    """
    base = _residues_mod_two_to(engine, a, s)
    even = np.flatnonzero(base[..., 0].reshape(-1) % np.uint64(2) == 0)
    if even.size:
        raise refuse_not_invertible(int(even[0]), a.shape)
    inverse = base  # a * a = 1 mod 8: three right bits
    two = limbs_from_ints([2], base.shape[-1])[0]
    right_bits = 3
    while right_bits < s:
        product = _low_bits(engine.int_mul(base, inverse), s)
        inverse = _low_bits(engine.int_mul(inverse, _difference_mod_two_to(engine, two, product, s)), s)
        right_bits *= 2
    return make_signed(inverse, np.zeros(a.shape, np.bool_))


def join_residues(engine: Engine, odd: Signed, t: int, two: Signed, s: int) -> Signed:
    """The x in [0, t * 2^s) with x = odd mod t and x = two mod 2^s: odd + t * ((two - odd) / t mod 2^s)."""
    t_limbs = limbs_from_ints([t], limbs_for_bits(t.bit_length()))[0]
    t_inverse = limbs_from_ints([pow(t, -1, 1 << s)], limbs_for_bits(s))[0]
    high = _difference_mod_two_to(engine, two.magnitude, odd.magnitude, s)
    high = _low_bits(engine.int_mul(high, t_inverse), s)
    total = engine.int_add(odd.magnitude, engine.int_mul(high, t_limbs))
    return make_signed(total, np.zeros(odd.shape, np.bool_))


def _residues_mod_two_to(engine: Engine, a: Signed, s: int) -> LimbArray:
    zero = np.zeros(1, np.uint64)
    low = _low_bits(a.magnitude, s)
    return np.where(a.negative[..., None], _difference_mod_two_to(engine, zero, low, s), low)


def _difference_mod_two_to(engine: Engine, a: LimbArray, b: LimbArray, s: int) -> LimbArray:
    """a - b mod 2^s for any non-negative a and b."""
    difference, below = engine.int_sub(_low_bits(a, s), _low_bits(b, s))
    power = limbs_from_ints([1 << s], limbs_for_bits(s + 1))[0]
    complement, _ = engine.int_sub(power, difference)
    return np.where(below[..., None], _low_bits(complement, s), _low_bits(difference, s))


def _low_bits(limbs: LimbArray, s: int) -> LimbArray:
    """The integers mod 2^s, in exactly the limbs that s bits need."""
    limb_count = limbs_for_bits(s)
    low = widen(limbs[..., :limb_count], limb_count).copy()
    low[..., -1] &= np.uint64((1 << s - LIMB_BITS * (limb_count - 1)) - 1)
    return low
