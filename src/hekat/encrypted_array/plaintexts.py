"""Scaled integers as plaintexts of a scheme, packed where the array is, and back."""

from __future__ import annotations

from hekat.encrypted_array.encoding import Encoding
from hekat.engine.limbs import limbs_for_bits
from hekat.engine.signed_limbs import IntegerArray, integers_from_limbs, limbs_from_integers
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
    return PackedPlaintext(limbs_from_integers(integers, limbs_for_bits(bound.bit_length() + 1)), bound)


def integers_from_plaintext(plain: PackedPlaintext) -> IntegerArray:
    """The signed integers, shape (count,): int64 where one limb holds them, else Python integers."""
    # Limbs beyond the bound's own limbs hold copies of the sign.
    return integers_from_limbs(plain.limbs[:, : limbs_for_bits(plain.bound.bit_length() + 1)])
