"""Several masked results in one plaintext: slots wide enough that none ever reaches into the next.

A result v with |v| < 2^a leaves in its slot as v + r + 2^(a + 80), r uniform in [0, 2^(a + 80)). That is more than
2^(a + 80) - 2^a > 0 and less than 2^(a + 81) + 2^a < 2^(a + 82), the slot's width, whatever v and r are: it neither
borrows from the slot above nor carries into it. To whoever opens it, v moves a uniform number by less than 2^-80 of
its range: any two v can be told apart with odds of at most 2^-79.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from hekat.engine.limbs import LIMB_BITS, LimbArray, limbs_for_bits, read_from_bit
from hekat.engine.random_limbs import random_bits
from hekat.errors import BoundError
from hekat.plaintext_space import PackedPlaintext
from hekat.protocol.vertical_linear.shared_weights.shares import RING_BITS, ShareArray, negate

MASK_MARGIN_BITS = 80
SLOT_MARGIN_BITS = MASK_MARGIN_BITS + 2
# What an opened result costs in encryptions of one number: rows with few columns are packed tightly, wide ones not.
_OPENING_COST = 5.0


@dataclass(frozen=True)
class SlotLayout:
    """`slot_count` results with magnitudes below 2^value_bits in one plaintext under keys of `key_bits`.

    Raises BoundError where not even one fits.
    """

    value_bits: int
    slot_count: int
    key_bits: int

    def __post_init__(self) -> None:
        # Narrower masks would not be uniform in the ring.
        assert self.mask_bits >= RING_BITS
        if not 1 <= self.slot_count <= most_slots(self.value_bits, self.key_bits):
            raise BoundError(
                "masked results do not fit into the key's plaintext space",
                expected=f"{self.slot_count} x {self.value_bits + SLOT_MARGIN_BITS} bits below {self.key_bits - 2}",
                got=f"keys of {self.key_bits} bits",
                cure="use a larger key_bits, or smaller batches",
            )

    @property
    def slot_bits(self) -> int:
        return self.value_bits + SLOT_MARGIN_BITS

    @property
    def mask_bits(self) -> int:
        """Masks are uniform in [0, 2^mask_bits)."""
        return self.value_bits + MASK_MARGIN_BITS

    @property
    def bound(self) -> int:
        """What no packed plaintext passes: below half of any modulus of `key_bits` bits."""
        return (1 << (self.slot_bits * self.slot_count)) - 1


def most_slots(value_bits: int, key_bits: int) -> int:
    """How many slots fit below 2^(key_bits - 2), which is at most half of the modulus."""
    return (key_bits - 2) // (value_bits + SLOT_MARGIN_BITS)


def choose_slots(value_bits: int, key_bits: int, result_count: int, factor_count: int) -> SlotLayout:
    """The layout that costs least for so many results of so many encrypted factors, each sent once for each slot."""
    best = math.sqrt(_OPENING_COST * result_count / max(1, factor_count))
    most = min(most_slots(value_bits, key_bits), max(1, result_count))
    return SlotLayout(value_bits, max(1, min(most, round(best))), key_bits)


def spread_factors(shares: ShareArray, layout: SlotLayout) -> PackedPlaintext:
    """Shares (k, m, 2) once for each slot, in that slot's place: slot_count * k * m plaintexts in C order."""
    top_bits = layout.slot_bits * (layout.slot_count - 1) + RING_BITS
    limb_count = limbs_for_bits(top_bits + 1)
    flat = shares.reshape(-1, 2)
    placed = [_place(flat, layout.slot_bits * slot, limb_count) for slot in range(layout.slot_count)]
    return PackedPlaintext(np.concatenate(placed), (1 << top_bits) - 1)


def spread_columns(values: npt.NDArray[np.int64], offset_bits: int, layout: SlotLayout) -> PackedPlaintext:
    """Integers (rows, columns) of magnitudes below 2^offset_bits, each plus 2^offset_bits, a row's columns in slots.

    One plaintext for each row and `slot_count` columns, rows first.
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
    """`matrix` (rows, k) with `slot_count` rows side by side in each, (ceil(rows / slot_count), slot_count * k).

    Multiplied with factors once for each slot it gives the rows' results packed. Dense or sparse as it is.
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


def draw_masks(packed_count: int, layout: SlotLayout) -> tuple[PackedPlaintext, ShareArray]:
    """Fresh masks for that many packed results, and what is left to their maker: shares (packed_count, slots, 2).

    Added to results v, the masks leave v - share in each slot; each slot has its own mask, used or not.
    """
    slot_count = layout.slot_count
    masks = random_bits(packed_count * slot_count, layout.mask_bits)
    raised = np.zeros((len(masks), limbs_for_bits(layout.slot_bits)), np.uint64)
    raised[:, : masks.shape[1]] = masks
    limb, bit = divmod(layout.mask_bits, LIMB_BITS)
    raised[:, limb] |= np.uint64(1 << bit)  # the offset: just above every mask
    limb_count = limbs_for_bits(layout.slot_bits * slot_count + 1)
    by_slot = raised.reshape(packed_count, slot_count, -1)
    packed = np.zeros((packed_count, limb_count), np.uint64)
    for slot in range(slot_count):
        packed |= _place(by_slot[:, slot], layout.slot_bits * slot, limb_count)
    own = negate(np.ascontiguousarray(by_slot[..., :2]))
    return PackedPlaintext(packed, layout.bound), own


def read_slots(limbs: LimbArray, layout: SlotLayout) -> ShareArray:
    """The slots of opened plaintexts (count, limbs), each mod 2^128: shares (count, slots, 2)."""
    slots = []
    for slot in range(layout.slot_count):
        start = layout.slot_bits * slot
        wide = np.concatenate([limbs, np.zeros((len(limbs), 2), np.uint64)], axis=1)
        low = read_from_bit(wide, start)
        high = read_from_bit(wide, start + LIMB_BITS)
        slots.append(np.stack([low, high], axis=-1))
    return np.stack(slots, axis=1)


def _place(values: LimbArray, start: int, limb_count: int) -> LimbArray:
    """Non-negative integers (count, limbs) times 2^start; the caller knows that they fit into `limb_count` limbs."""
    limb, shift = divmod(start, LIMB_BITS)
    placed = np.zeros((len(values), limb_count + 1), np.uint64)
    room = min(values.shape[1], limb_count - limb)
    values = values[:, :room]
    placed[:, limb : limb + room] = values << np.uint64(shift)
    if shift:
        placed[:, limb + 1 : limb + 1 + room] |= values >> np.uint64(LIMB_BITS - shift)
    return placed[:, :limb_count]
