"""The arithmetic of a step under BFV: a batch's rows in one or a few ciphertexts, all columns' products in as few."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from hekat.engine.limbs import LimbArray, ints_from_limbs, limbs_for_bits, limbs_from_ints
from hekat.engine.signed_limbs import as_objects
from hekat.errors import InputError, ProtocolError
from hekat.protocol.vertical_linear.arbiter.arithmetic import IntegerArray, Masked, check_shape
from hekat.protocol.vertical_linear.fixed_point import IntArray
from hekat.scheme.bfv import (
    Ciphertexts,
    Masks,
    ProductLayout,
    Products,
    PublicKey,
    add,
    add_products,
    encrypt_rows,
    encrypt_sum,
    mask_products,
    multiply_columns,
    place_sum,
    unmask_products,
)
from hekat.wire.bfv import read_ciphertexts, write_ciphertexts, write_masked

Held = Ciphertexts | Products


class BfvArithmetic:
    """Computes on ciphertexts under the arbiter's BFV key.

    Results are exact, but each opened number may be off by one unit with odds below 2^-hiding_bits of the layout.
    """

    protection = "lattice"

    def __init__(self, key: PublicKey, layout: ProductLayout) -> None:
        self._key, self._layout = key, layout

    def hold(self, rows: IntArray) -> Ciphertexts:
        return encrypt_rows(self._key, rows, self._layout)

    def hold_sum(self, value: int) -> Products:
        return encrypt_sum(self._key, value, self._layout)

    def add(self, addends: Sequence[Any]) -> Held:
        return add_products(addends, self._layout) if isinstance(addends[0], Products) else add(addends)

    def multiply(self, matrix: Any, rows: Ciphertexts) -> Products:
        return multiply_columns(matrix, rows, self._layout)

    def take(self, products: Products, indices: Any) -> Products:
        return products.take(np.asarray(indices, np.int64))

    def write(self, values: Held) -> bytes:
        # All parties know where a party's own sum lies.
        return write_ciphertexts(values.ciphertexts if isinstance(values, Products) else values)

    def read_rows(self, data: bytes, shape: tuple[int, int], sender: str) -> Ciphertexts:
        return self._read(data, self._layout.groups(shape[0]) * shape[1], sender)

    def read_sum(self, data: bytes, sender: str) -> Products:
        return place_sum(self._read(data, 1, sender), self._layout)

    def mask(self, products: Products) -> Masked:
        masked, masks = mask_products(products, self._layout)
        return Masked(write_masked(masked), limbs_from_ints(masks.values, self._modulus_limbs))

    def unmask(self, opened: LimbArray, masked: Masked, sender: str, cut_bits: int = 0) -> IntegerArray:
        told_bits = self._layout.opened_bits - cut_bits
        check_shape(opened.shape, (len(masked.masks), limbs_for_bits(told_bits)), sender)
        masks = Masks(tuple(ints_from_limbs(masked.masks)))
        try:
            return as_objects(unmask_products(ints_from_limbs(opened), masks, self._layout, cut_bits=cut_bits))
        except InputError as error:
            raise ProtocolError(
                f"{sender} opened what is no sum under its mask",
                expected=error.expected,
                got=error.got,
                cure=error.cure,
            ) from None

    @property
    def _modulus_limbs(self) -> int:
        return limbs_for_bits(self._key.parameters.modulus.bit_length())

    def _read(self, data: bytes, count: int, sender: str) -> Ciphertexts:
        values = read_ciphertexts(data, self._key)
        check_shape((values.count,), (count,), sender)
        return values
