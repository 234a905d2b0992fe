"""FLBooster's layout: unsigned levels with overflow bits above them; decoding needs the exact number of addends."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from hekat.codec.clip import FloatArray
from hekat.codec.layout import Layout, ceil_log2, check_count
from hekat.codec.quantise import IntArray, Rounding, dequantise_offset, quantise_offset
from hekat.engine.limb_slots import read_slots, repeat_in_slots, write_slots
from hekat.engine.limbs import LimbArray
from hekat.errors import InputError


@dataclass(frozen=True)
class OffsetLayout(Layout):
    """A plaintext is sum of q_i * 2^(l * i), 0 <= q_i <= 2^value_bits - 1, l = value_bits + ceil(log2 max_addends).

    Padding slots hold the integer 0. Source: FLBooster (ICDE 2023), Eqs. 6-9.
    """

    name: ClassVar[str] = "offset"

    @property
    def slot_bits(self) -> int:
        return self.value_bits + ceil_log2(self.max_addends)

    @property
    def lowest(self) -> int:
        return 0

    @property
    def highest(self) -> int:
        return (1 << self.value_bits) - 1

    @cached_property
    def bound(self) -> int:
        return repeat_in_slots(self.highest, self.slot_bits, self.slots)

    def quantise(
        self, x: npt.ArrayLike, alpha: float, rounding: Rounding = "nearest", rng: np.random.Generator | None = None
    ) -> IntArray:
        return quantise_offset(x, alpha, self.value_bits, rounding, rng)

    def dequantise(self, sums: IntArray, alpha: float, addend_count: int) -> FloatArray:
        check_count("addend_count", addend_count, 1, self.max_addends)
        return dequantise_offset(sums, alpha, self.value_bits, addend_count)

    def _known_addend_count(self, limbs: LimbArray, addend_count: int | None) -> int:
        if addend_count is None:
            raise InputError(
                "the layout offset cannot be decoded without the number of addends",
                expected="addend_count, exactly as many as were added",
                got="none",
                cure="pass it from the protocol, or use 'balanced', which carries it",
            )
        return addend_count

    def _write(self, values: IntArray) -> LimbArray:
        return write_slots(values.view(np.uint64), self.slot_bits, self.limb_count)

    def _read(self, limbs: LimbArray, addend_count: int) -> IntArray:
        return read_slots(limbs, self.slot_bits, self.slots).view(np.int64)
