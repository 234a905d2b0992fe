"""Products X^T d with many rows of d in one ciphertext, opened so that nobody learns anything but the products.

Values d_0 .. d_(k-1) of k rows lie in one plaintext as D(Z) = sum d_i Z^i at Z = 2^slot_bits. A column enters as
X(Z) = sum x_i Z^(k-1-i); then the coefficient of Z^(k-1) in D X is sum x_i d_i, and summed over all ciphertexts it is
the column's product with all rows. So rows take a k-th of the encryptions and bytes.

The other coefficients are sums that nobody may learn. So the party that asks for a product adds a mask r uniform mod n.
The key's holder finds m + r mod n, which is uniform, and returns the bits of that one slot alone. The asking party
subtracts r's bits of the slot and has the product, unless the bits below carry into the slot: then the product comes
out one unit off, with odds of the neighbour's magnitude over 2^slot_bits. That unit is all that a neighbour ever shows.
No sum exceeds 2^(slot_bits - 1 - HIDING_BITS), so each opened number shows it with odds below 2^-HIDING_BITS. The sum
wraps mod n with odds of at most 2^-MARGIN_BITS.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import isqrt
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from hekat.engine.limbs import LimbArray, ints_from_limbs, limbs_for_bits, limbs_from_ints
from hekat.errors import BoundError, InputError
from hekat.plaintext_space import PackedPlaintext
from hekat.scheme.paillier.ciphertexts import Ciphertexts
from hekat.scheme.paillier.evaluate import add, matmul_plain, multiply_plain
from hekat.scheme.paillier.keys.key_pair import PublicKey
from hekat.scheme.paillier.twos_complement import plaintext_from_ints

MARGIN_BITS: Final = 80
# Sums stay so many bits below their slot's width: a neighbour shows in an opened number with odds below 2^-HIDING_BITS.
HIDING_BITS: Final = 16
# Two encryptions of a row take as long as this many squarings in all lanes of a processor.
SQUARINGS_OF_A_ROW: Final = 300
# Fewer columns than this leave lanes without work.
LEAST_COLUMNS: Final = 32


@dataclass(frozen=True)
class RowPacking:
    """`row_count` rows in one plaintext, `slot_bits` apart: every sum of products is below 2^(slot_bits - 1)."""

    row_count: int
    slot_bits: int

    @property
    def first_bit(self) -> int:
        """Where the slot of the products begins."""
        return (self.row_count - 1) * self.slot_bits

    def groups(self, row_count: int) -> int:
        """Ciphertexts that `row_count` rows take."""
        return -(-row_count // self.row_count)


def choose_row_packing(public: PublicKey, product_bound: int, row_count: int, column_count: int) -> RowPacking:
    """The packing that is fastest for `row_count` rows and `column_count` columns of all parties.

    `product_bound` bounds every sum of products of a column's entries with rows' values.
    Raises BoundError where the key has no room for one row.
    """
    # The bound plus one still fits: a carry may add one unit.
    slot_bits = (product_bound + 1).bit_length() + 1 + HIDING_BITS
    room_bits = public.bits - MARGIN_BITS
    most = (room_bits // slot_bits + 1) // 2
    if most < 1:
        raise BoundError(
            "the key has no room for a masked product",
            expected=f"products below 2^{room_bits - 2 - HIDING_BITS}",
            got=f"products up to 2^{product_bound.bit_length()}",
            cure="use fewer bits for fixed point, fewer rows in a batch, or a larger key",
        )
    # More rows in one plaintext: fewer encryptions, but proportionally more squarings for each column.
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
    """Integers (columns, rows), dense or sparse as SciPy's, in the order that `packed_products` takes.

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
    """Ciphertexts (columns,) or (columns, m) with columns @ rows in one slot, for packed rows c.

    `arranged` comes from `arrange_columns`; c has shape (groups,) or (groups, m). Not re-randomised. Open them only
    with `open_slots` and under a mask uniform mod n: the other slots hold further sums.
    """
    by_slot = matmul_plain(arranged, c)
    by_slot = by_slot.reshape((packing.row_count, arranged.shape[0] // packing.row_count, *c.shape[1:]))
    total = by_slot[0]
    for slot in range(1, packing.row_count):
        total = add(multiply_plain(total, 1 << packing.slot_bits), by_slot[slot])
    return total


def place_products(values: Sequence[int], packing: RowPacking) -> PackedPlaintext:
    """Products in the clear as plaintexts of their slot, for adding to encrypted ones.

    Raises BoundError for one beyond the slot, without it.
    """
    limit = 1 << (packing.slot_bits - 1)
    if any(not -limit < value < limit for value in values):
        raise BoundError(
            "a product does not fit into its slot", expected=f"below 2^{packing.slot_bits - 1}", got="more"
        )
    placed = [value << packing.first_bit for value in values]
    return plaintext_from_ints(placed, (1 << (packing.row_count * packing.slot_bits)) - 1)


def open_slots(opened: LimbArray, public: PublicKey, packing: RowPacking, cut_bits: int = 0) -> LimbArray:
    """The bits of decrypted masked products, two's complement (count, limbs of n), that the asking party may see: the
    slot's bits without its lowest `cut_bits`.

    Shape (count, limbs of these bits).
    """
    wrap = 1 << (64 * opened.shape[-1])
    residues = [(value - wrap if 2 * value >= wrap else value) % public.n for value in ints_from_limbs(opened)]
    told_bits = packing.slot_bits - cut_bits
    first_bit, told = packing.first_bit + cut_bits, (1 << told_bits) - 1
    return limbs_from_ints([value >> first_bit & told for value in residues], limbs_for_bits(told_bits))


def unmask_slots(slots: LimbArray, masks: LimbArray, packing: RowPacking, cut_bits: int = 0) -> list[int]:
    """The products divided by 2^cut_bits, from the opened slots and the masks mod n that were added; where bits are
    cut, the whole number below or above, the nearer one with the higher odds.

    Raises InputError where the counts of slots and masks differ, or an opened number is wider than a slot.
    """
    told_bits = packing.slot_bits - cut_bits
    if slots.shape != (len(masks), limbs_for_bits(told_bits)):
        raise InputError("slots and masks do not fit", expected=f"{len(masks)} slots", got=f"shape {slots.shape}")
    modulus, first_bit = 1 << told_bits, packing.first_bit + cut_bits
    values = ints_from_limbs(slots)
    if any(value >= modulus for value in values):
        raise InputError("a slot is wider than agreed", expected=f"{told_bits} bits", got="more")
    half = modulus // 2
    pairs = zip(values, ints_from_limbs(masks), strict=True)
    return [(value - (mask >> first_bit) + half) % modulus - half for value, mask in pairs]


def _at_slots(values: Sequence[int], slot_bits: int) -> int:
    return sum(value << (index * slot_bits) for index, value in enumerate(values))
