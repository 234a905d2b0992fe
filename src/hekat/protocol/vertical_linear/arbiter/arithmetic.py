"""The arithmetic of a step: the same integers under Paillier, under BFV (`bfv_arithmetic`), or in the clear, with
equal results."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import reduce
from typing import Any, Protocol, TypeVar

import numpy as np

from hekat.engine.limbs import LimbArray, limbs_for_bits
from hekat.errors import ProtocolError, WireCorruptError
from hekat.protocol.vertical_linear.arbiter.exact_product import multiply_exactly
from hekat.protocol.vertical_linear.arbiter.signed_limbs import IntegerArray, as_objects, integers_of, limbs_of
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

Held = TypeVar("Held")


@dataclass(frozen=True)
class Masked:
    """Products on their way to the arbiter, as bytes, and the masks that only their owner knows."""

    data: bytes
    masks: LimbArray = field(repr=False)


class Arithmetic(Protocol[Held]):
    """What guest and hosts compute with; `Held` are numbers in the form that this arithmetic holds them in."""

    protection: str

    def hold(self, rows: IntArray) -> Held:
        """Integers (rows, K), encrypted freshly where there is encryption."""
        ...

    def hold_sum(self, value: int) -> Held:
        """One integer, shape (1,), in the form of a product."""
        ...

    def add(self, addends: Sequence[Held]) -> Held: ...

    def multiply(self, matrix: Any, rows: Held) -> Held:
        """Products matrix (m, rows) @ rows (rows, K): (m, K)."""
        ...

    def take(self, products: Held, indices: Any) -> Held:
        """Those at flat indices, in the shape of `indices`."""
        ...

    def write(self, values: Held) -> bytes:
        """Bytes for another party, which does not hold the key."""
        ...

    def read_rows(self, data: bytes, shape: tuple[int, int], sender: str) -> Held:
        """Rows that `write` wrote. Raises WireError, and ProtocolError for another shape than (rows, K)."""
        ...

    def read_sum(self, data: bytes, sender: str) -> Held:
        """What `hold_sum` made, as `read_rows`."""
        ...

    def mask(self, products: Held) -> Masked:
        """Products that the key's holder may open without learning anything."""
        ...

    def unmask(self, opened: LimbArray, masked: Masked, sender: str, cut_bits: int = 0) -> IntegerArray:
        """The integers of what was masked, shape (count,); over 2^cut_bits, less than one unit off, where so many of
        the lowest bits were not told. Raises ProtocolError for another count."""
        ...


class PaillierArithmetic:
    """On ciphertexts under the arbiter's key, several rows in each; they stay where the engine computes until they are
    written.

    What lies below the slot that is opened may carry one unit into it, or borrow one. So rows are made GUARD_UNITS
    times as large, and products rounded: results are exact, as in the clear.
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
        """Each c as c (1 + m n) r^n, m and r uniform: under a key that is proven to permute a uniform unit mod n^2,
        whatever the key's holder knows and whatever went in."""
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
        """Of the ciphertexts that hold rows of this shape."""
        return (self._packing.groups(shape[0]), *shape[1:])

    def _read(self, data: bytes, shape: tuple[int, ...], sender: str) -> Ciphertexts:
        values = from_bytes(data, Ciphertexts, public_key=self._key)
        check_shape(values.shape, shape, sender)
        return values


class PlainArithmetic:
    """In the clear, for protection `none`: exact, and without masks."""

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
        return integers_of(limbs).reshape(shape)

    def read_sum(self, data: bytes, sender: str) -> IntegerArray:
        limbs = plain_limbs(data, sender)
        check_shape(limbs.shape, (1, 2), sender)
        return integers_of(limbs)

    def mask(self, products: IntegerArray) -> Masked:
        return Masked(self.write(products), np.zeros((products.size, 2), np.uint64))

    def unmask(self, opened: LimbArray, masked: Masked, sender: str, cut_bits: int = 0) -> IntegerArray:
        check_shape(opened.shape, masked.masks.shape, sender)
        return integers_of(opened)


def plain_limbs(data: bytes, sender: str) -> LimbArray:
    """Limbs (count, 1 or 2) of what PlainArithmetic wrote. Raises WireCorruptError."""
    limb_count = data[0] if data else 0
    if limb_count not in (1, 2) or (len(data) - 1) % (8 * limb_count):
        raise WireCorruptError(f"numbers of {sender} do not have the form of any", expected="limbs after their width")
    return np.frombuffer(data, "<u8", offset=1).astype(np.uint64).reshape(-1, limb_count)


def check_shape(got: tuple[int, ...], expected: tuple[int, ...], sender: str) -> None:
    """Raise ProtocolError for numbers that do not come in the shape that the job gives them."""
    if got != expected:
        raise ProtocolError(
            f"{sender} sent numbers of another shape",
            expected=str(expected),
            got=str(got),
            cure="all parties must run the same job and release, on the same rows",
        )
