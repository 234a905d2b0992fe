"""Moves fields of up to 64 bits into and out of the lanes of multi-limb integers, across limb borders.

Lane i of an integer is its bits [i * lane_bits, (i + 1) * lane_bits). All arrays are unsigned; the loops run over lanes
and limbs, each step over a block of plaintexts at once.
"""

from __future__ import annotations

import numpy as np

from hekat.engine.limbs import LIMB_BITS, LimbArray

# Plaintexts worked on at once: fields and limbs of one block stay in the second-level cache.
_BLOCK = 1024


def write_lanes(fields: LimbArray, lane_bits: int, limb_count: int) -> LimbArray:
    """Fields (count, lanes), each < 2^lane_bits, as integers (count, limb_count): field i in lane i.

    lanes * lane_bits <= 64 * limb_count, 1 <= lane_bits <= 64.
    """
    limbs = np.empty((fields.shape[0], limb_count), dtype=np.uint64)
    for start in range(0, fields.shape[0], _BLOCK):
        by_lane = np.ascontiguousarray(fields[start : start + _BLOCK].T)
        by_limb = np.zeros((limb_count, by_lane.shape[1]), dtype=np.uint64)
        for lane, field in enumerate(by_lane):
            limb, shift = divmod(lane * lane_bits, LIMB_BITS)
            by_limb[limb] |= field << np.uint64(shift)
            if shift + lane_bits > LIMB_BITS:
                by_limb[limb + 1] |= field >> np.uint64(LIMB_BITS - shift)
        limbs[start : start + _BLOCK] = by_limb.T
    return limbs


def read_lanes(limbs: LimbArray, lane_bits: int, lane_count: int) -> LimbArray:
    """The first `lane_count` lanes of integers (count, limbs) as fields (count, lane_count), each < 2^lane_bits.

    lane_count * lane_bits <= 64 * limbs, 1 <= lane_bits <= 64.
    """
    fields = np.empty((limbs.shape[0], lane_count), dtype=np.uint64)
    mask = np.uint64((1 << lane_bits) - 1)
    for start in range(0, limbs.shape[0], _BLOCK):
        by_limb = np.ascontiguousarray(limbs[start : start + _BLOCK].T)
        by_lane = np.empty((lane_count, by_limb.shape[1]), dtype=np.uint64)
        for lane in range(lane_count):
            limb, shift = divmod(lane * lane_bits, LIMB_BITS)
            field = np.right_shift(by_limb[limb], np.uint64(shift), out=by_lane[lane])
            if shift + lane_bits > LIMB_BITS:
                field |= by_limb[limb + 1] << np.uint64(LIMB_BITS - shift)
            field &= mask
        fields[start : start + _BLOCK] = by_lane.T
    return fields


def read_from_bit(limbs: LimbArray, first_bit: int) -> LimbArray:
    """floor(integer / 2^first_bit) mod 2^64 of integers (count, limbs), shape (count,)."""
    limb, shift = divmod(first_bit, LIMB_BITS)
    field = limbs[:, limb] >> np.uint64(shift)
    if shift and limb + 1 < limbs.shape[1]:
        field |= limbs[:, limb + 1] << np.uint64(LIMB_BITS - shift)
    return field


def add_constant(limbs: LimbArray, constant: int) -> LimbArray:
    """integer + constant mod 2^(64 * limbs) for integers (count, limbs) and any constant of either sign."""
    limb_count = limbs.shape[1]
    words = (constant % (1 << (LIMB_BITS * limb_count))).to_bytes(8 * limb_count, "little")
    total = np.empty_like(limbs)
    for start in range(0, limbs.shape[0], _BLOCK):
        by_limb = limbs[start : start + _BLOCK].T.copy()
        carry = np.zeros(by_limb.shape[1], dtype=np.uint64)
        for row, word in zip(by_limb, np.frombuffer(words, dtype="<u8"), strict=True):
            row += carry
            overflowed = row < carry
            row += word
            overflowed |= row < word
            carry = overflowed.astype(np.uint64)
        total[start : start + _BLOCK] = by_limb.T
    return total


def repeat_in_lanes(field: int, lane_bits: int, lane_count: int) -> int:
    """The integer that has `field` in each of its lanes."""
    return field * (((1 << (lane_bits * lane_count)) - 1) // ((1 << lane_bits) - 1))
