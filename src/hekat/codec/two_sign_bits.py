"""BatchCrypt's layout: two's complement fields added as non-negative integers, in a form exact for any number."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np

from hekat.codec.layout import Layout, ceil_log2, malformed_sum
from hekat.codec.quantise import IntArray, level_bound
from hekat.engine.limb_slots import read_slots, repeat_in_slots, write_slots
from hekat.engine.limbs import LIMB_BITS, LimbArray
from hekat.errors import InputError


@dataclass(frozen=True)
class TwoSignBitsLayout(Layout):
    """A slot is a field of w = 1 + bitlength(P * L) bits and ceil(log2 P) carry bits above it, P = max_addends.

    A contributor writes its value mod 2^w. The sum of P fields is the sum of values mod 2^w plus 2^w for each negative
    value that did not cancel: it stays inside the slot, and its lowest w bits, read with a sign, are the sum.

    Source: BatchCrypt (ATC 2020), section 4.2, with a field wide enough for the sum and room for its carries.
    """

    name: ClassVar[str] = "two_sign_bits"

    @property
    def field_bits(self) -> int:
        """Bits of the two's complement field: sign bits and magnitude of a whole sum."""
        return 1 + (self.max_addends * level_bound(self.value_bits)).bit_length()

    @property
    def carry_bits(self) -> int:
        """Bits above the field that catch the carries of the fields' sum."""
        return ceil_log2(self.max_addends)

    @property
    def slot_bits(self) -> int:
        return self.field_bits + self.carry_bits

    @cached_property
    def bound(self) -> int:
        return repeat_in_slots((1 << self.field_bits) - 1, self.slot_bits, self.slots)

    def _write(self, values: IntArray) -> LimbArray:
        fields = values.view(np.uint64) & np.uint64((1 << self.field_bits) - 1)
        return write_slots(fields, self.slot_bits, self.limb_count)

    def _read(self, limbs: LimbArray, addend_count: int) -> IntArray:
        totals = read_slots(limbs, self.slot_bits, self.slots)
        unused = LIMB_BITS - self.field_bits
        # Shifting the field to the top of the word and back down as a signed number extends its sign.
        sums = (totals << np.uint64(unused)).view(np.int64) >> np.int64(unused)
        negatives = (totals - sums.view(np.uint64)) >> np.uint64(self.field_bits)
        if negatives.size and negatives.max() > addend_count:
            raise malformed_sum("a slot carries more than its addends can")
        return sums


@dataclass(frozen=True)
class TwoSignBitsAsPublishedLayout(TwoSignBitsLayout):
    """The published form: value_bits - 1 bits of magnitude under two sign bits, one carry; for two contributors.

    The two sign bits are room for the sum of two values and the padding catches the carry of one addition. A third
    contributor's carry goes into the neighbouring slot, so more than two are refused.

    Source: BatchCrypt (ATC 2020), section 4.2.
    """

    name: ClassVar[str] = "two_sign_bits_as_published"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.max_addends > 2:
            raise InputError(
                "the published two-sign-bit layout is exact for two contributors only: two sign bits hold the sum of"
                " two values, and further carries change the neighbouring value unseen",
                expected="max_addends of 1 or 2",
                got=f"{self.max_addends}",
                cure="use 'two_sign_bits', the same layout with room for every addend, or 'balanced'",
            )
        if self.value_bits < 2:
            raise InputError(
                "the published two-sign-bit layout has no 1-bit form",
                expected="value_bits of at least 2",
                got=f"{self.value_bits}",
                cure="use 'two_sign_bits' or 'balanced'",
            )

    @property
    def field_bits(self) -> int:
        return self.value_bits + 1

    @property
    def carry_bits(self) -> int:
        return 1
