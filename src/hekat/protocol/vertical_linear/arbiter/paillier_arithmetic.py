"""The arithmetic of a step under Paillier: several rows in each ciphertext, each product in a slot of its own."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import Any

import numpy as np

from hekat.engine.limbs import LimbArray, limbs_for_bits
from hekat.engine.signed_limbs import as_objects
from hekat.protocol.vertical_linear.arbiter.arithmetic import IntegerArray, Masked, check_shape
from hekat.protocol.vertical_linear.arbiter.sum_layout import GUARD_UNITS, SumLayout, slot_cut_bits
from hekat.protocol.vertical_linear.fixed_point import IntArray
from hekat.scheme.paillier import Ciphertexts, PublicKey, add, add_uniform, encrypt, rerandomise
from hekat.scheme.paillier.row_packing import (
    arrange_columns,
    pack_rows,
    packed_products,
    place_products,
    unmask_slots,
)
from hekat.wire import from_bytes, to_bytes


class PaillierArithmetic:
    """Computes on ciphertexts under the arbiter's key; they stay where the engine computes until they are written.

    The slots below the opened slot may carry one unit into it, or borrow one. So rows are made GUARD_UNITS times as
    large, and products rounded: results are exact, as in the clear.
    """

    protection = "paillier"

    def __init__(self, key: PublicKey, layout: SumLayout) -> None:
        self._key, self._packing = key, layout.packing(key)

    def hold(self, rows: IntArray) -> Ciphertexts:
        return encrypt(self._key, pack_rows(GUARD_UNITS * rows, self._packing)).reshape(self._shape(rows.shape))

    def hold_sum(self, value: int) -> Ciphertexts:
        return encrypt(self._key, place_products([GUARD_UNITS * value], self._packing))

    def add(self, addends: Sequence[Ciphertexts]) -> Ciphertexts:
        return reduce(add, addends)

    def multiply(self, matrix: Any, rows: Ciphertexts) -> Ciphertexts:
        return packed_products(arrange_columns(matrix, self._packing), rows, self._packing)

    def take(self, products: Ciphertexts, indices: Any) -> Ciphertexts:
        return products.take(np.asarray(indices, np.int64))

    def write(self, values: Ciphertexts) -> bytes:
        return to_bytes(values)

    def read_rows(self, data: bytes, shape: tuple[int, int], sender: str) -> Ciphertexts:
        return self._read(data, self._shape(shape), sender)

    def read_sum(self, data: bytes, sender: str) -> Ciphertexts:
        return self._read(data, (1,), sender)

    def mask(self, products: Ciphertexts) -> Masked:
        """Each c becomes c (1 + m n) r^n with uniform m and r.

        The key is proven to permute, so this is a uniform unit mod n^2, whatever the key's holder knows and whatever
        went in.
        """
        hidden, masks = add_uniform(products.reshape(-1))
        return Masked(to_bytes(rerandomise(hidden)), masks)

    def unmask(self, opened: LimbArray, masked: Masked, sender: str, cut_bits: int = 0) -> IntegerArray:
        cut_units = slot_cut_bits(cut_bits)
        told_bits = self._packing.slot_bits - cut_units
        check_shape(opened.shape, (len(masked.masks), limbs_for_bits(told_bits)), sender)
        values = unmask_slots(opened, masked.masks, self._packing, cut_units)
        if cut_units:
            return as_objects(values)
        return as_objects([(value + GUARD_UNITS // 2) // GUARD_UNITS for value in values])

    def _shape(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        """The shape of the ciphertexts that hold rows of `shape`."""
        return (self._packing.groups(shape[0]), *shape[1:])

    def _read(self, data: bytes, shape: tuple[int, ...], sender: str) -> Ciphertexts:
        values = from_bytes(data, Ciphertexts, public_key=self._key)
        check_shape(values.shape, shape, sender)
        return values
