"""Products X^T d with many rows of d in one ciphertext, opened so that nothing but the products is seen.

Values d_0 .. d_(k-1) of k rows lie in one plaintext as D(Z) = sum d_i Z^i at Z = 2^slot_bits. A column enters as
X(Z) = sum x_i Z^(k-1-i); then the coefficient of Z^(k-1) in D X is sum x_i d_i, and summed over all ciphertexts it is
the column's product with all rows. Rows so take a k-th of the encryptions and of the bytes.

The other coefficients are sums that nobody is to see, so whoever holds the private key opens that one slot alone, under
a mask: with r a uniform integer of MASK_BITS bits more than all slots have, the sum hides them, and it does not wrap.
What comes below the slot may carry one unit into it: a product is exact or one unit too large.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import isqrt
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from hekat.engine.interface import Engine
from hekat.engine.limbs import LimbArray, ints_from_limbs, limbs_for_bits, limbs_from_ints
from hekat.errors import BoundError, InputError
from hekat.plaintext_space import PackedPlaintext
from hekat.scheme.paillier.ciphertexts import Ciphertexts
from hekat.scheme.paillier.evaluate import add, add_plain, matmul_plain, multiply_plain
from hekat.scheme.paillier.keys import PublicKey
from hekat.scheme.paillier.twos_complement import plaintext_from_ints

MASK_BITS: Final = 80
# One encryption and one re-randomisation of a row's ciphertext take as long as so many squarings.
SQUARINGS_OF_A_ROW: Final = 300
# Fewer columns than this leave lanes of a processor without work.
LEAST_COLUMNS: Final = 32


@dataclass(frozen=True)
class RowPacking:
    """`row_count` rows in one plaintext, `slot_bits` apart: products of magnitude below 2^(slot_bits - 1)."""

    row_count: int
    slot_bits: int

    @property
    def total_bits(self) -> int:
        """Bits of a product of two packed operands, made non-negative."""
        return (2 * self.row_count - 1) * self.slot_bits

    @property
    def offset(self) -> int:
        """Half of each slot: makes every coefficient non-negative."""
        return sum(1 << (slot * self.slot_bits + self.slot_bits - 1) for slot in range(2 * self.row_count - 1))

    def groups(self, row_count: int) -> int:
        """Ciphertexts that `row_count` rows take."""
        return -(-row_count // self.row_count)


def choose_row_packing(public: PublicKey, product_bound: int, row_count: int, column_count: int) -> RowPacking:
    """The packing under which `row_count` rows and `column_count` columns of all parties take the least time.

    `product_bound`: what no product of a column with the rows passes, nor any part of one.
    Raises BoundError where the key has no room for one row.
    """
    # One unit more than the bound still fits: it may be carried in.
    slot_bits = (product_bound + 1).bit_length() + 1
    room_bits = public.plaintext_space.bits - MASK_BITS - 1
    most = (room_bits // slot_bits + 1) // 2
    if most < 1:
        raise BoundError(
            "the key has no room for a masked product",
            expected=f"products below 2^{room_bits - 1}",
            got=f"products up to 2^{product_bound.bit_length()}",
            cure="use fewer bits for fixed point, fewer rows in a batch, or a larger key",
        )
    # More rows in one: fewer encryptions, but as many more squarings for each column.
    best = isqrt(SQUARINGS_OF_A_ROW * row_count // (slot_bits * max(column_count, LEAST_COLUMNS)))
    return RowPacking(max(1, min(most, best)), slot_bits)


def pack_rows(values: npt.NDArray[Any], packing: RowPacking) -> PackedPlaintext:
    """Signed integers (rows,) or (rows, m) as plaintexts, in C order of shape (groups,) or (groups, m).

    Raises BoundError for a value beyond a slot, without it.
    """
    limit = 1 << (packing.slot_bits - 1)
    group_count = packing.groups(values.shape[0])
    padded = np.zeros((packing.row_count * group_count, *values.shape[1:]), object)
    padded[: values.shape[0]] = values
    lines = padded.reshape(packing.row_count, -1).T.tolist()
    if any(not -limit < value < limit for line in lines for value in line):
        raise BoundError(
            "a row's value does not fit into its slot",
            expected=f"magnitudes below 2^{packing.slot_bits - 1}",
            got="a larger one",
            cure="state the true bound of the products",
        )
    packed = [_at_slots(line, packing.slot_bits) for line in lines]
    return plaintext_from_ints(packed, (1 << (packing.row_count * packing.slot_bits)) - 1)


def arrange_columns(columns: Any, packing: RowPacking) -> Any:
    """Integers (columns, rows), dense or sparse as SciPy's, as `packed_products` takes them.

    Shape (packing.row_count * columns, groups): the columns' entries for the rows in the first slot, then the next.
    """
    column_count, row_count = columns.shape
    group_count = packing.groups(row_count)
    if hasattr(columns, "tocoo"):
        entries = columns.tocoo()
        column, row = (np.asarray(index, np.int64) for index in (entries.row, entries.col))
        slot, group = np.divmod(row, group_count)
        shape = (packing.row_count * column_count, group_count)
        return type(entries)((entries.data, (slot * column_count + column, group)), shape=shape).tocsr()
    columns = np.asarray(columns)
    padded = np.zeros((column_count, packing.row_count * group_count), columns.dtype)
    padded[:, :row_count] = columns
    by_slot = padded.reshape(column_count, packing.row_count, group_count).transpose(1, 0, 2)
    return by_slot.reshape(packing.row_count * column_count, group_count)


def packed_products(arranged: Any, c: Ciphertexts, packing: RowPacking) -> Ciphertexts:
    """Ciphertexts (columns,) or (columns, m) of which the middle slot is columns @ rows, for packed rows c.

    `arranged` from `arrange_columns`; c of shape (groups,) or (groups, m). Not re-randomised, and not to be opened
    without `masked_products`: the other slots hold sums of their own.
    """
    by_slot = matmul_plain(arranged, c)
    by_slot = by_slot.reshape((packing.row_count, arranged.shape[0] // packing.row_count, *c.shape[1:]))
    total = by_slot[0]
    for slot in range(1, packing.row_count):
        total = add(multiply_plain(total, 1 << packing.slot_bits), by_slot[slot])
    return total


def draw_masks(count: int, packing: RowPacking, engine: Engine) -> LimbArray:
    """`count` fresh masks as limbs: uniform integers of MASK_BITS bits more than all slots have."""
    masks: LimbArray = engine.to_host(engine.random_bits(count, packing.total_bits + MASK_BITS))
    return masks


def masked_products(products: Ciphertexts, masks: LimbArray, packing: RowPacking) -> Ciphertexts:
    """The products with a mask each, in C order; re-randomise them before they leave."""
    offset = packing.offset
    addends = [mask + offset for mask in ints_from_limbs(masks)]
    bound = (1 << (packing.total_bits + MASK_BITS + 1)) - 1
    return add_plain(products, plaintext_from_ints(addends, bound))


def open_slots(opened: PackedPlaintext, packing: RowPacking) -> LimbArray:
    """The middle slot of decrypted masked products, shape (count, limbs of a slot): all of them that may be told."""
    first_bit, slot = (packing.row_count - 1) * packing.slot_bits, (1 << packing.slot_bits) - 1
    return limbs_from_ints(
        [value >> first_bit & slot for value in ints_from_limbs(opened.limbs)], limbs_for_bits(packing.slot_bits)
    )


def unmask_slots(slots: LimbArray, masks: LimbArray, packing: RowPacking) -> list[int]:
    """The products, each exact or one unit too large, from the opened slots and the masks they were opened under.

    Raises InputError where there are not as many slots as masks, or one is wider than a slot.
    """
    if slots.ndim != 2 or len(slots) != len(masks):
        raise InputError("slots and masks differ in number", expected=f"{len(masks)} slots", got=f"shape {slots.shape}")
    first_bit, modulus = (packing.row_count - 1) * packing.slot_bits, 1 << packing.slot_bits
    values = ints_from_limbs(slots)
    if any(value >= modulus for value in values):
        raise InputError("a slot is wider than agreed", expected=f"{packing.slot_bits} bits", got="more")
    half = modulus // 2
    return [
        (value - (mask >> first_bit)) % modulus - half
        for value, mask in zip(values, ints_from_limbs(masks), strict=True)
    ]


def _at_slots(values: Sequence[int], slot_bits: int) -> int:
    return sum(value << (index * slot_bits) for index, value in enumerate(values))
