"""Signed integers to two's complement limbs and back: how plaintexts enter and leave a scheme."""

from __future__ import annotations

import numpy as np

from hekat.array_module import array_module
from hekat.encrypted_array.encoding import Encoding
from hekat.encrypted_array.fixed_point import IntegerArray
from hekat.engine.limbs import LIMB_BITS, ints_from_limbs, limbs_for_bits, limbs_from_ints
from hekat.plaintext_space import PackedPlaintext


def plaintext_of(integers: IntegerArray, encoding: Encoding, scaled_bound: int) -> PackedPlaintext:
    """Scaled values within `scaled_bound`, in the slots of `encoding` if it has any, as plaintexts in C order."""
    bound = encoding.plaintext_bound(scaled_bound)
    packing = encoding.packing
    if packing is None:
        return plaintext_from_integers(integers, bound)
    if integers.dtype == object:
        return plaintext_from_integers(packing.pack(integers), bound)
    return PackedPlaintext(packing.write(integers, limbs_for_bits(bound.bit_length() + 1)), bound)


def plaintext_from_integers(integers: IntegerArray, bound: int) -> PackedPlaintext:
    """The integers of any shape in C order, |v| <= bound, as (count, limbs) with a bit to spare for the sign."""
    limb_count = limbs_for_bits(bound.bit_length() + 1)
    flat = integers.ravel()
    if flat.dtype != object:
        limbs = array_module(flat).empty((flat.size, limb_count), dtype=np.uint64)
        limbs[:, 0] = flat.view(np.uint64)
        limbs[:, 1:] = (flat >> np.int64(63)).view(np.uint64)[:, None]
        return PackedPlaintext(limbs, bound)
    mask = (1 << (LIMB_BITS * limb_count)) - 1
    return PackedPlaintext(limbs_from_ints([v & mask for v in flat.tolist()], limb_count), bound)


def integers_from_plaintext(plain: PackedPlaintext) -> IntegerArray:
    """The signed integers, shape (count,): int64 where one limb holds them, else Python integers."""
    limb_count = limbs_for_bits(plain.bound.bit_length() + 1)
    # Limbs beyond those that the bound needs hold copies of the sign.
    limbs = np.ascontiguousarray(plain.limbs[:, :limb_count])
    if limb_count == 1:
        return limbs[:, 0].view(np.int64)
    width = LIMB_BITS * limbs.shape[1]
    sign, modulus = 1 << (width - 1), 1 << width
    integers = np.empty(len(plain), dtype=object)
    integers[:] = [v - modulus if v & sign else v for v in ints_from_limbs(limbs)]
    return integers
