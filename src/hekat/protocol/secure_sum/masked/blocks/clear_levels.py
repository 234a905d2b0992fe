"""Levels in the clear and their sums as bytes: what a party sends of them, and what the aggregator adds and answers."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from hekat.codec import level_bound
from hekat.engine.ring.interface import LevelArray, RingArray, SumArray
from hekat.errors import BoundError, InputError
from hekat.protocol.secure_sum.masked import slot_stream
from hekat.protocol.secure_sum.masked.opening.sum_check import read_whole, whole_bytes, write_whole

SentLevels = npt.NDArray[np.int8] | npt.NDArray[np.int16] | npt.NDArray[np.int32]
_DTYPES: dict[int, np.dtype[Any]] = {1: np.dtype("i1"), 2: np.dtype("<i2"), 4: np.dtype("<i4")}


@dataclass(frozen=True)
class ClearForm:
    """How levels of `value_bits` travel: public, equal at all roles."""

    value_bits: int

    @property
    def level(self) -> int:
        """The largest magnitude of a level."""
        return level_bound(self.value_bits)

    @property
    def level_bytes(self) -> int:
        """Bytes of a level: 1 or 2, and 4 beyond 16 bits."""
        return 1 if self.value_bits <= 8 else 2 if self.value_bits <= 16 else 4

    def sum_bits(self, addend_count: int) -> int:
        """Bits of a sum of so many levels, as a number from 0."""
        return (2 * addend_count * self.level).bit_length()

    def sum_bytes(self, value_count: int, addend_count: int) -> int:
        """Bytes of so many sums."""
        return whole_bytes(value_count, self.sum_bits(addend_count))

    def write_levels(self, levels: LevelArray) -> bytes:
        """A party's levels."""
        return bytes(levels.astype(_DTYPES[self.level_bytes]).data)

    def read_levels(self, written: bytes, value_count: int) -> SentLevels:
        """What `write_levels` wrote. Raises InputError for another size, and for what is no level."""
        if len(written) != value_count * self.level_bytes:
            raise InputError(
                "a block in the clear of another size",
                expected=f"{value_count * self.level_bytes} bytes",
                got=f"{len(written)} bytes",
            )
        levels: SentLevels = np.frombuffer(written, _DTYPES[self.level_bytes])
        if levels.size and max(int(levels.max()), -int(levels.min())) > self.level:
            raise InputError(
                "a value in the clear that is no level", expected=f"magnitudes up to {self.level}", got="a larger one"
            )
        return levels

    def write_sums(self, sums: SumArray, addend_count: int) -> bytes:
        """Sums of so many parties' levels, each as a number from 0."""
        return write_whole(self.fields_of(sums, addend_count), self.sum_bits(addend_count))

    def read_fields(self, written: bytes, value_count: int, addend_count: int) -> RingArray:
        """The numbers that `write_sums` wrote, in whatever range. Raises BoundError for another size."""
        if len(written) != self.sum_bytes(value_count, addend_count):
            raise BoundError(
                "a block of sums in the clear has another size",
                expected=f"{self.sum_bytes(value_count, addend_count)} bytes",
                got=f"{len(written)} bytes",
            )
        return read_whole(written, value_count, self.sum_bits(addend_count))

    def sums_of(self, fields: RingArray, addend_count: int) -> SumArray:
        """The sums behind the numbers from 0."""
        return fields.astype(np.int64) - addend_count * self.level

    def fields_of(self, sums: SentLevels | SumArray, addend_count: int = 1) -> RingArray:
        """Levels, or sums of so many, as numbers from 0: they add up as the sums do."""
        return (sums.astype(np.int64) + addend_count * self.level).astype(np.uint64)


class ClearSum:
    """The aggregator's sum of the levels in the clear, int64."""

    def __init__(self, value_count: int, form: ClearForm) -> None:
        self.value_count, self.form = value_count, form
        self.addend_count = 0
        self._sums = np.zeros(value_count, dtype=np.int64)

    def add(self, blocks: list[SentLevels]) -> None:
        """One party's blocks, in their order, of `value_count` levels in all."""
        start = 0
        for block in blocks:
            self._sums[start : start + block.size] += block
            start += block.size
        self.addend_count += 1

    def write(self) -> Iterator[bytes]:
        """The sums, block by block."""
        start = 0
        for count in clear_block_sizes(self.value_count):
            yield self.form.write_sums(self._sums[start : start + count], self.addend_count)
            start += count


def clear_block_values() -> int:
    """Values of each block in the clear but the last."""
    return slot_stream.BLOCK_SLOTS


def clear_block_sizes(value_count: int) -> Iterator[int]:
    """Values of each block of an upload or a sum of so many."""
    block_values = clear_block_values()
    return (min(block_values, value_count - start) for start in range(0, value_count, block_values))
