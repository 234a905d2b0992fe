"""The arithmetic of a step in the clear, for protection `none`, and its integers as limbs on the wire."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import Any

import numpy as np

from hekat.engine.limbs import LimbArray
from hekat.engine.signed_limbs import as_objects, integers_from_limbs, limbs_from_signed_ints
from hekat.errors import BoundError, WireCorruptError
from hekat.protocol.vertical_linear.arbiter.arithmetic import IntegerArray, Masked, check_shape
from hekat.protocol.vertical_linear.arbiter.exact_product import multiply_exactly
from hekat.protocol.vertical_linear.fixed_point import IntArray

WIDE_BITS = 127


class PlainArithmetic:
    """Computes in the clear: exact, and without masks."""

    protection = "none"

    def hold(self, rows: IntArray) -> IntegerArray:
        return rows

    def hold_sum(self, value: int) -> IntegerArray:
        return as_objects([value])

    def add(self, addends: Sequence[IntegerArray]) -> IntegerArray:
        total: IntegerArray = reduce(np.add, addends)
        return total

    def multiply(self, matrix: Any, rows: IntegerArray) -> IntegerArray:
        return multiply_exactly(matrix, rows)

    def take(self, products: IntegerArray, indices: Any) -> IntegerArray:
        taken: IntegerArray = products.ravel()[indices]
        return taken

    def write(self, values: IntegerArray) -> bytes:
        limbs = limbs_of(values)
        return bytes([limbs.shape[1]]) + limbs.astype("<u8").tobytes()

    def read_rows(self, data: bytes, shape: tuple[int, int], sender: str) -> IntegerArray:
        limbs = plain_limbs(data, sender)
        check_shape(limbs.shape, (shape[0] * shape[1], 1), sender)
        return integers_from_limbs(limbs).reshape(shape)

    def read_sum(self, data: bytes, sender: str) -> IntegerArray:
        limbs = plain_limbs(data, sender)
        check_shape(limbs.shape, (1, 2), sender)
        return integers_from_limbs(limbs)

    def mask(self, products: IntegerArray) -> Masked:
        return Masked(self.write(products), np.zeros((products.size, 2), np.uint64))

    def unmask(self, opened: LimbArray, masked: Masked, sender: str, cut_bits: int = 0) -> IntegerArray:
        check_shape(opened.shape, masked.masks.shape, sender)
        return integers_from_limbs(opened)


def plain_limbs(data: bytes, sender: str) -> LimbArray:
    """The limbs (count, 1 or 2) that PlainArithmetic wrote. Raises WireCorruptError."""
    limb_count = data[0] if data else 0
    if limb_count not in (1, 2) or (len(data) - 1) % (8 * limb_count):
        raise WireCorruptError(f"numbers of {sender} do not have the form of any", expected="limbs after their width")
    return np.frombuffer(data, "<u8", offset=1).astype(np.uint64).reshape(-1, limb_count)


def limbs_of(values: IntegerArray) -> LimbArray:
    """`values` in C order as limbs: (count, 1) of int64, (count, 2) of Python integers.

    Raises BoundError where a magnitude reaches 2^WIDE_BITS.
    """
    flat = values.ravel()
    if flat.dtype != object:
        return np.ascontiguousarray(flat, np.int64).view(np.uint64)[:, np.newaxis]
    numbers = [int(value) for value in flat]
    if any(abs(number) >> WIDE_BITS for number in numbers):
        raise BoundError("an integer passes its bound", expected=f"magnitudes below 2^{WIDE_BITS}", got="a larger one")
    return limbs_from_signed_ints(numbers, 2)
