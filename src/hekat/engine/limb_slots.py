"""Moves fields of up to 64 bits into and out of the slots of multi-limb integers, across limb borders.

Slot i of an integer is its bits [i * slot_bits, (i + 1) * slot_bits). All arrays are unsigned. The loops run over slots
and limbs; each step handles a block of plaintexts at once.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from hekat.array_module import array_module, on_host
from hekat.engine.limbs import LIMB_BITS, LimbArray

# Plaintexts worked on at once: fields and limbs of one block stay in the second-level cache of a processor.
_BLOCK = 1024


def write_slots(fields: LimbArray, slot_bits: int, limb_count: int) -> LimbArray:
    """Fields (count, slots), each < 2^slot_bits, as integers (count, limb_count): field i in slot i.

    slots * slot_bits <= 64 * limb_count. A slot may be wider than the 64 bits of a field.
    """
    xp = array_module(fields)
    field_bits = min(slot_bits, LIMB_BITS)
    limbs: LimbArray = xp.empty((fields.shape[0], limb_count), dtype=np.uint64)
    for block in _blocks(fields):
        by_slot = xp.ascontiguousarray(fields[block].T)
        by_limb = xp.zeros((limb_count, by_slot.shape[1]), dtype=np.uint64)
        for slot in range(by_slot.shape[0]):
            field = by_slot[slot]
            limb, shift = divmod(slot * slot_bits, LIMB_BITS)
            row = by_limb[limb]
            row |= field << np.uint64(shift)
            if shift + field_bits > LIMB_BITS:
                row = by_limb[limb + 1]
                row |= field >> np.uint64(LIMB_BITS - shift)
        limbs[block] = by_limb.T
    return limbs


def read_slots(limbs: LimbArray, slot_bits: int, slot_count: int) -> LimbArray:
    """The first `slot_count` slots of integers (count, limbs) as fields (count, slot_count), each < 2^slot_bits.

    slot_count * slot_bits <= 64 * limbs, 1 <= slot_bits <= 64.
    """
    xp = array_module(limbs)
    fields: LimbArray = xp.empty((limbs.shape[0], slot_count), dtype=np.uint64)
    mask = np.uint64((1 << slot_bits) - 1)
    for block in _blocks(limbs):
        by_limb = xp.ascontiguousarray(limbs[block].T)
        by_slot = xp.empty((slot_count, by_limb.shape[1]), dtype=np.uint64)
        for slot in range(slot_count):
            limb, shift = divmod(slot * slot_bits, LIMB_BITS)
            field = xp.right_shift(by_limb[limb], np.uint64(shift), out=by_slot[slot])
            if shift + slot_bits > LIMB_BITS:
                field |= by_limb[limb + 1] << np.uint64(LIMB_BITS - shift)
            field &= mask
        fields[block] = by_slot.T
    return fields


def add_constant(limbs: LimbArray, constant: int) -> LimbArray:
    """integer + constant mod 2^(64 * limbs) for integers (count, limbs) and any constant of either sign."""
    limb_count = limbs.shape[1]
    words = (constant % (1 << (LIMB_BITS * limb_count))).to_bytes(8 * limb_count, "little")
    xp = array_module(limbs)
    total: LimbArray = xp.empty_like(limbs)
    for block in _blocks(limbs):
        by_limb = limbs[block].T.copy()
        carry = xp.zeros(by_limb.shape[1], dtype=np.uint64)
        for index, word in enumerate(np.frombuffer(words, dtype="<u8")):
            row = by_limb[index]
            row += carry
            overflowed = row < carry
            row += word
            overflowed |= row < word
            carry = overflowed.astype(np.uint64)
        total[block] = by_limb.T
    return total


def _blocks(integers: LimbArray) -> Iterator[slice]:
    """Slices of plaintexts to work on at once; one slice on a device, because each step there is a kernel."""
    step = _BLOCK if on_host(integers) else max(integers.shape[0], 1)
    for start in range(0, integers.shape[0], step):
        yield slice(start, start + step)


def repeat_in_slots(field: int, slot_bits: int, slot_count: int) -> int:
    """The integer that has `field` in each of its slots."""
    return field * (((1 << (slot_bits * slot_count)) - 1) // ((1 << slot_bits) - 1))
