"""Several results in one plaintext, each in a slot of its own: where the slots stand, and how many fit.

A result v with |v| < 2^a stands in its slot as v + 2^a, so that the whole plaintext V is not negative and no slot
reaches into the next one. V leaves as D = V + R, under one mask R for the whole plaintext (`whole_mask`). Slots begin
at multiples of a width of 128 bits or more. So floor(D / 2^start) - floor(R / 2^start) - 2^a mod 2^128 is v, or v + 1
where the bits below the slot carry into it: the parties have shares of v or v + 1, and in the lowest slot of v itself.

V is below 2^(key_bits - 1 - MARGIN_BITS). So V + R passes the modulus, and all its slots are lost, with odds below
2^-MARGIN_BITS. Where a unit would count, each slot ends MARGIN_BITS below the next one, and a carry has the same odds.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from hekat.engine.limbs import LIMB_BITS, LimbArray, limbs_for_bits, read_from_bit
from hekat.errors import BoundError
from hekat.plaintext_space import PackedPlaintext
from hekat.protocol.shares.share_array import RING_BITS, ShareArray

MARGIN_BITS = 76
# A run that opens fewer results than this loses one of them with odds below 2^-40.
MAX_RESULTS = 1 << (MARGIN_BITS - 40)
# An opened result is off by at most so many units, which its slot may be carried.
CARRY_UNITS = 1
# An opened result costs as much as so many encryptions of a number, most of it for its randomiser r^n. So rows with
# few columns are packed tightly, and wide rows are not.
_OPENING_COST = 15.0


@dataclass(frozen=True)
class SlotLayout:
    """`slot_count` results with magnitudes below 2^value_bits in one plaintext under keys of `key_bits`.

    The upper `gap_bits` of a slot are empty. Raises BoundError where not even one slot fits.
    """

    value_bits: int
    slot_count: int
    key_bits: int
    gap_bits: int = 0

    def __post_init__(self) -> None:
        if not 1 <= self.slot_count <= most_slots(self.value_bits, self.key_bits, self.gap_bits):
            raise BoundError(
                "masked results do not fit into the key's plaintext space",
                expected=f"{self.slot_count} x {self.slot_bits} bits in {self.key_bits - 1 - MARGIN_BITS}",
                got=f"keys of {self.key_bits} bits",
                cure="use a larger key_bits, or smaller batches",
            )

    @property
    def slot_bits(self) -> int:
        """The width of a slot."""
        return _slot_bits(self.value_bits, self.gap_bits)

    @property
    def offset(self) -> int:
        """The number that makes the results of all slots non-negative: 2^value_bits in each slot."""
        return sum(1 << (self.slot_bits * slot + self.value_bits) for slot in range(self.slot_count))


def most_slots(value_bits: int, key_bits: int, gap_bits: int = 0) -> int:
    """How many slots fit below 2^(key_bits - 1 - MARGIN_BITS); the modulus is at least 2^(key_bits - 1)."""
    return max(0, key_bits - 1 - MARGIN_BITS) // _slot_bits(value_bits, gap_bits)


def choose_slots(value_bits: int, key_bits: int, result_count: int, factor_count: int) -> SlotLayout:
    """The layout with the lowest cost for so many results of so many encrypted factors, each sent once for each
    slot."""
    best = math.sqrt(_OPENING_COST * result_count / max(1, factor_count))
    most = min(most_slots(value_bits, key_bits), max(1, result_count))
    return SlotLayout(value_bits, max(1, min(most, round(best))), key_bits)


def check_result_count(count: int) -> None:
    """Raise BoundError where so many results in one session would raise the odds of a lost one to 2^-40."""
    if count >= MAX_RESULTS:
        raise BoundError(
            "too many results are opened under masks in one session",
            expected=f"fewer than 2^{MAX_RESULTS.bit_length() - 1}, so that one is lost with odds below 2^-40",
            got=f"up to {count}",
            cure="choose fewer training.epochs and go on by --start-from, or predict fewer rows at a time",
        )


def spread_factors(shares: ShareArray, layout: SlotLayout) -> PackedPlaintext:
    """One copy of shares (k, m, 2) for each slot, in the slot's place: slot_count * k * m plaintexts in C order."""
    top_bits = layout.slot_bits * (layout.slot_count - 1) + RING_BITS
    limb_count = limbs_for_bits(top_bits + 1)
    flat = shares.reshape(-1, 2)
    placed = [_place(flat, layout.slot_bits * slot, limb_count) for slot in range(layout.slot_count)]
    return PackedPlaintext(np.concatenate(placed), (1 << top_bits) - 1)


def spread_columns(values: npt.NDArray[np.int64], offset_bits: int, layout: SlotLayout) -> PackedPlaintext:
    """Integers (rows, columns) of magnitudes below 2^offset_bits, each raised by 2^offset_bits, columns side by side.

    Each row has one plaintext for every `slot_count` columns; rows come first.
    """
    rows, columns = values.shape
    groups = -(-columns // layout.slot_count)
    top_bits = layout.slot_bits * (layout.slot_count - 1) + offset_bits + 1
    limb_count = limbs_for_bits(top_bits + 1)
    limbs = np.zeros((rows, groups, limb_count), np.uint64)
    raised = (values + (1 << offset_bits)).astype(np.uint64)
    for column in range(columns):
        group, slot = divmod(column, layout.slot_count)
        limbs[:, group] |= _place(raised[:, column, np.newaxis], layout.slot_bits * slot, limb_count)
    return PackedPlaintext(limbs.reshape(rows * groups, limb_count), (1 << top_bits) - 1)


def gather_rows(matrix: Any, slot_count: int) -> Any:
    """`matrix` (rows, k) with `slot_count` rows side by side in each row, (ceil(rows / slot_count), slot_count * k).

    Its product with the factors of `spread_factors` is the rows' results, packed. Dense stays dense, sparse sparse.
    """
    rows, width = matrix.shape
    packed = -(-rows // slot_count)
    if isinstance(matrix, np.ndarray):
        missing = packed * slot_count - rows
        padded = np.concatenate([matrix, np.zeros((missing, width), matrix.dtype)]) if missing else matrix
        return padded.reshape(packed, slot_count * width)
    from scipy.sparse import csr_array

    by_rows = matrix.tocsr()
    row_numbers = np.repeat(np.arange(rows, dtype=np.int64), np.diff(by_rows.indptr))
    columns = by_rows.indices.astype(np.int64) + width * (row_numbers % slot_count)
    ends = by_rows.indptr[np.minimum(np.arange(packed + 1, dtype=np.int64) * slot_count, rows)]
    return csr_array((by_rows.data, columns, ends), shape=(packed, slot_count * width))


def read_slots(limbs: LimbArray, layout: SlotLayout) -> ShareArray:
    """For plaintexts x (count, limbs), floor(x / 2^start) mod 2^128 at each slot's start: shares (count, slots, 2)."""
    slots = []
    for slot in range(layout.slot_count):
        start = layout.slot_bits * slot
        wide = np.concatenate([limbs, np.zeros((len(limbs), 2), np.uint64)], axis=1)
        low = read_from_bit(wide, start)
        high = read_from_bit(wide, start + LIMB_BITS)
        slots.append(np.stack([low, high], axis=-1))
    return np.stack(slots, axis=1)


def _slot_bits(value_bits: int, gap_bits: int) -> int:
    # Narrower slots would reach into each other's shares.
    return max(RING_BITS, value_bits + 1 + gap_bits)


def _place(values: LimbArray, start: int, limb_count: int) -> LimbArray:
    """Non-negative integers (count, limbs) times 2^start; the caller makes sure that they fit into `limb_count`
    limbs."""
    limb, shift = divmod(start, LIMB_BITS)
    placed = np.zeros((len(values), limb_count + 1), np.uint64)
    room = min(values.shape[1], limb_count - limb)
    values = values[:, :room]
    placed[:, limb : limb + room] = values << np.uint64(shift)
    if shift:
        placed[:, limb + 1 : limb + 1 + room] |= values >> np.uint64(LIMB_BITS - shift)
    return placed[:, :limb_count]
