"""The default layout: signed digits in slots wide enough for any sum, and a count slot on top of each plaintext."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np

from hekat.codec.layout import Layout, malformed_sum
from hekat.codec.quantise import IntArray, level_bound
from hekat.engine.limb_slots import add_constant, read_slots, repeat_in_slots, write_slots
from hekat.engine.limbs import LimbArray, read_from_bit
from hekat.errors import BoundError, InputError
from hekat.plaintext_space import PackedPlaintext


@dataclass(frozen=True)
class BalancedLayout(Layout):
    """A plaintext is sum of v_i * 2^(l * i) over its slots plus 1 * 2^(l * slots), the contributor's own count.

    l = 1 + bitlength(P * L) holds every sum of P = max_addends signed values of magnitude at most L. The count slot is
    the highest, so a packed plaintext and every sum of them is positive; the sum's count slot is the number of addends.
    """

    name: ClassVar[str] = "balanced"
    has_count_slot: ClassVar[bool] = True

    @property
    def slot_bits(self) -> int:
        return 1 + (self.max_addends * level_bound(self.value_bits)).bit_length()

    @property
    def _count_slot_bits(self) -> int:
        return self.max_addends.bit_length()

    @cached_property
    def bound(self) -> int:
        return (1 << (self.slot_bits * self.slots)) + repeat_in_slots(self.highest, self.slot_bits, self.slots)

    def read_addend_count(self, plain: PackedPlaintext) -> int:
        """How many contributors were added. Raises BoundError where plaintexts differ or hold an impossible count."""
        limbs = self._fitting_limbs(plain.limbs)
        if len(limbs) == 0:
            raise InputError("no plaintexts hold no count", expected="at least one plaintext", got="none")
        # All slots below together are less than half a count, positive or negative: adding half a count rounds to the
        # count.
        counts = (read_from_bit(limbs, self.slot_bits * self.slots - 1) + np.uint64(1)) >> np.uint64(1)
        lowest, highest = int(counts.min()), int(counts.max())
        if lowest != highest:
            raise malformed_sum("its plaintexts have different numbers of addends")
        if not 1 <= lowest <= self.max_addends:
            raise malformed_sum(f"its number of addends is not from 1 to {self.max_addends}")
        return lowest

    def _known_addend_count(self, limbs: LimbArray, addend_count: int | None) -> int:
        if len(limbs) == 0:
            return super()._known_addend_count(limbs, addend_count)
        counted = self.read_addend_count(PackedPlaintext(limbs, self.sum_bound))
        if addend_count is not None and counted != addend_count:
            raise BoundError(
                "the number of addends is not the one announced",
                expected=f"{addend_count} contributors",
                got=f"{counted} in the count slot",
                cure="find the contributor that was dropped or added twice",
            )
        return counted

    @cached_property
    def _half(self) -> int:
        return 1 << (self.slot_bits - 1)

    @cached_property
    def _lift(self) -> int:
        """Half a slot in every slot: signed values plus this are slots of unsigned fields without borrows."""
        return repeat_in_slots(self._half, self.slot_bits, self.slots)

    def _write(self, values: IntArray) -> LimbArray:
        lifted = (values + np.int64(self._half)).view(np.uint64)
        one_contributor = (1 << (self.slot_bits * self.slots)) - self._lift
        return add_constant(write_slots(lifted, self.slot_bits, self.limb_count), one_contributor)

    def _read(self, limbs: LimbArray, addend_count: int) -> IntArray:
        fields = read_slots(add_constant(limbs, self._lift), self.slot_bits, self.slots)
        return fields.view(np.int64) - np.int64(self._half)
