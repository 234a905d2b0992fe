"""Slots: several values in one plaintext, side by side as balanced signed digits wide enough for every sum."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hekat.array_module import array_module
from hekat.engine.limb_slots import add_constant, write_slots
from hekat.engine.limbs import LIMB_BITS, LimbArray, limbs_for_bits
from hekat.engine.signed_limbs import IntegerArray
from hekat.errors import InputError

MIN_SLOT_BITS = 2


@dataclass(frozen=True)
class SlotPacking:
    """`slots` values v_j with |v_j| <= limit in one plaintext: the sum of v_j * 2^(slot_bits * j).

    No slot carries into its neighbour: the digits are balanced, so each sum stands for exactly one tuple of values.
    Arrays check their bound against `limit` before they compute.
    """

    slots: int
    slot_bits: int

    @property
    def limit(self) -> int:
        """The largest magnitude a slot holds."""
        return (1 << (self.slot_bits - 1)) - 1

    @property
    def _ones(self) -> int:
        """A one in every slot."""
        return ((1 << (self.slots * self.slot_bits)) - 1) // ((1 << self.slot_bits) - 1)

    def ciphertext_count(self, row_length: int) -> int:
        """Plaintexts to one row of values; the last one may have empty slots."""
        return -(-row_length // self.slots)

    def plaintext_bound(self, bound: int) -> int:
        """The bound of a plaintext whose slots are within `bound`."""
        return bound * self._ones

    def pack(self, values: IntegerArray) -> IntegerArray:
        """Rows of values (..., row_length) as integers (..., ciphertext_count)."""
        row_length = values.shape[-1]
        chunks = self.ciphertext_count(row_length)
        padded = np.zeros((*values.shape[:-1], chunks * self.slots), dtype=object)
        padded[..., :row_length] = values
        slots = padded.reshape(*values.shape[:-1], chunks, self.slots)
        packed = np.zeros(slots.shape[:-1], dtype=object)
        for slot in reversed(range(self.slots)):
            packed = (packed << self.slot_bits) + slots[..., slot]
        return np.asarray(packed, dtype=object)

    def write(self, values: IntegerArray, limb_count: int) -> LimbArray:
        """Rows of int64 values as `pack` packs them, in two's complement: shape (count, limb_count), where they lie.

        `limb_count` limbs hold every plaintext with its sign.
        """
        row_length = values.shape[-1]
        xp = array_module(values)
        padded = xp.zeros((*values.shape[:-1], self.ciphertext_count(row_length) * self.slots), dtype=np.int64)
        padded[..., :row_length] = values
        # Lifted by half a slot, or by half of what int64 holds if that is less, the digits are unsigned fields.
        half = 1 << (min(self.slot_bits, LIMB_BITS) - 1)
        fields = padded.view(np.uint64).reshape(-1, self.slots) + np.uint64(half)
        lifted = write_slots(fields, self.slot_bits, limbs_for_bits(self.slots * self.slot_bits))
        return add_constant(lifted, -half * self._ones)[:, :limb_count]

    def unpack(self, packed: IntegerArray, row_length: int) -> IntegerArray:
        """The values (..., row_length) of integers (..., ciphertext_count): the inverse of `pack`."""
        mask = (1 << self.slot_bits) - 1
        middle = 1 << (self.slot_bits - 1)
        # Lifted by half a slot each, the digits are plain unsigned fields.
        lifted = packed.astype(object) + middle * self._ones
        slots = np.empty((*packed.shape, self.slots), dtype=object)
        for slot in range(self.slots):
            slots[..., slot] = ((lifted >> (slot * self.slot_bits)) & mask) - middle
        return slots.reshape(*packed.shape[:-1], packed.shape[-1] * self.slots)[..., :row_length]


def choose_packing(pack: int, slot_bits: int | None, scaled_bound: int, plaintext_bits: int) -> SlotPacking:
    """`pack` slots of `slot_bits`, by default as wide as the key allows: room for the most additions.

    Raises InputError where the slots do not fit into a plaintext of `plaintext_bits`, or a value into its slot.
    """
    needed = max(scaled_bound.bit_length() + 1, MIN_SLOT_BITS)
    most = (plaintext_bits + 1) // needed
    if isinstance(pack, bool) or not isinstance(pack, int | np.integer) or pack < 1:
        raise InputError(
            "pack refused", expected="the number of values to one ciphertext, an integer >= 1", got=type(pack).__name__
        )
    # All slots together stay below 2^(pack * width - 1), so one bit more than the space counts.
    width = (plaintext_bits + 1) // int(pack) if slot_bits is None else int(slot_bits)
    if width < needed or width * int(pack) > plaintext_bits + 1:
        raise InputError(
            "the slots do not fit",
            expected=f"slots of at least {needed} bits for this bound and at most {plaintext_bits + 1} bits in all",
            got=f"{int(pack)} slots of {width} bits",
            cure=f"use pack={most} or fewer, a smaller bound= or scale_bits=, or a larger key"
            if most
            else "use a smaller bound= or scale_bits=, or a larger key",
        )
    return SlotPacking(int(pack), width)
