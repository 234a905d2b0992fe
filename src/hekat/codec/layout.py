"""The base of every packing layout: its sizes, its checks before packing and after decryption."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from hekat.array_module import array_module
from hekat.codec.clip import FloatArray
from hekat.codec.quantise import IntArray, Rounding, check_value_bits, dequantise, level_bound, quantise
from hekat.engine.limbs import LIMB_BITS, LimbArray, limbs_for_bits
from hekat.errors import BoundError, InputError
from hekat.plaintext_space import PackedPlaintext

MAX_ADDENDS = 1 << 16
MAX_SLOT_BITS = LIMB_BITS


@dataclass(frozen=True)
class Layout(ABC):
    """Where values lie in a plaintext: slots of `slot_bits` bits, wide enough for the sum of `max_addends` of them.

    `plaintext_bits` are the bits of magnitude a plaintext may use (`PlaintextSpace.bits`). Checked when made; packed
    plaintexts and sums of up to `max_addends` of them are integers in [0, 2^plaintext_bits - 1].
    """

    value_bits: int
    max_addends: int
    plaintext_bits: int

    name: ClassVar[str]
    has_count_slot: ClassVar[bool] = False

    def __post_init__(self) -> None:
        check_value_bits(self.value_bits)
        check_count("max_addends", self.max_addends, 1, MAX_ADDENDS)
        check_count("plaintext_bits", self.plaintext_bits, 1, None)
        if self.slot_bits > MAX_SLOT_BITS:
            raise InputError(
                "a packing slot is too wide",
                expected=f"at most {MAX_SLOT_BITS} bits",
                got=f"{self.slot_bits} bits for {self.value_bits}-bit values of {self.max_addends} addends",
                cure="use fewer bits per value or fewer addends",
            )
        if self.slots < 1:
            raise InputError(
                "not one value fits into a plaintext",
                expected=f"a plaintext of at least {self.slot_bits + self._count_slot_bits} bits",
                got=f"{self.plaintext_bits} bits",
                cure="use a larger key, fewer bits per value or fewer addends",
            )

    # --- sizes -----------------------------------------------------------------------------------------

    @property
    @abstractmethod
    def slot_bits(self) -> int:
        """Bits from one value to the next in a plaintext."""

    @property
    def lowest(self) -> int:
        """The smallest integer that one contributor may put into a slot."""
        return -level_bound(self.value_bits)

    @property
    def highest(self) -> int:
        """The largest integer that one contributor may put into a slot."""
        return level_bound(self.value_bits)

    @property
    def slots(self) -> int:
        """Values to one plaintext (a count slot is not counted)."""
        return (self.plaintext_bits - self._count_slot_bits) // self.slot_bits

    @cached_property
    @abstractmethod
    def bound(self) -> int:
        """The largest packed plaintext of one contributor."""

    @property
    def sum_bound(self) -> int:
        """The largest sum of `max_addends` packed plaintexts; at most 2^plaintext_bits - 1."""
        return self.max_addends * self.bound

    @property
    def limb_count(self) -> int:
        """Limbs of a packed plaintext: enough for the sum of `max_addends` and a sign."""
        return limbs_for_bits(self.sum_bound.bit_length() + 1)

    def plaintext_count(self, value_count: int) -> int:
        """Plaintexts that `value_count` >= 0 values take."""
        check_count("value_count", value_count, 0, None)
        return -(-value_count // self.slots)

    @property
    def _count_slot_bits(self) -> int:
        return 0

    # --- one contributor -------------------------------------------------------------------------------

    def quantise(
        self, x: npt.ArrayLike, alpha: float, rounding: Rounding = "nearest", rng: np.random.Generator | None = None
    ) -> IntArray:
        """Values in [-alpha, alpha] as the integers this layout packs; rounding and Raises as `codec.quantise`."""
        return quantise(x, alpha, self.value_bits, rounding, rng)

    def dequantise(self, sums: IntArray, alpha: float, addend_count: int) -> FloatArray:
        """Unpacked sums of `addend_count` contributors as float64 sums of values."""
        check_count("addend_count", addend_count, 1, self.max_addends)
        return dequantise(sums, alpha, self.value_bits)

    def pack(self, q: npt.NDArray[Any]) -> PackedPlaintext:
        """One contributor's integers, 1-D, each in [lowest, highest], as packed plaintexts of this layout's `bound`.

        Slots beyond the last value hold zero. Raises InputError for another shape, dtype or range.
        """
        values = self._checked_values(q)
        count = self.plaintext_count(values.size)
        if values.size == count * self.slots:
            padded = values.reshape(count, self.slots)
        else:
            padded = array_module(values).zeros((count, self.slots), dtype=np.int64)
            padded.reshape(-1)[: values.size] = values
        return PackedPlaintext(self._write(padded), self.bound)

    def _checked_values(self, q: npt.NDArray[Any]) -> IntArray:
        if q.ndim != 1 or q.dtype.kind not in "iu" or not np.can_cast(q.dtype, np.int64):
            raise InputError(
                "values to pack have the wrong form",
                expected="a 1-D array of int64",
                got=f"shape {q.shape} of {q.dtype}",
                cure="quantise first, then flatten",
            )
        values = q.astype(np.int64, copy=False)
        if values.size and (values.min() < self.lowest or values.max() > self.highest):
            outside = int(array_module(values).count_nonzero((values < self.lowest) | (values > self.highest)))
            raise InputError(
                "values to pack are out of range",
                expected=f"integers from {self.lowest} to {self.highest} ({self.value_bits} bits, {self.name})",
                got=f"{outside} of {values.size} outside",
                cure="clip and quantise with the same value_bits and the layout's own quantise",
            )
        return values

    @abstractmethod
    def _write(self, values: IntArray) -> LimbArray:
        """Checked values (count, slots) as integers of `limb_count` limbs."""

    # --- a sum of contributors ---------------------------------------------------------------------------

    def unpack(self, plain: PackedPlaintext, value_count: int, addend_count: int | None = None) -> IntArray:
        """The `value_count` sums in decrypted plaintexts, int64; any number of limbs is read.

        `addend_count`, where given, is the number of contributors in the sum. Raises InputError for a count that does
        not fit the layout or the plaintexts, BoundError for plaintexts that so many contributors cannot have made.
        """
        self._check_plaintext_count(plain, value_count)
        if addend_count is not None:
            check_count("addend_count", addend_count, 1, self.max_addends)
        limbs = self._fitting_limbs(plain.limbs)
        addends = self._known_addend_count(limbs, addend_count)
        sums = self._read(limbs, addends).reshape(-1)
        if sums[value_count:].any():
            raise malformed_sum("the padding after the last value is not zero")
        sums = sums[:value_count]
        if sums.size and (sums.min() < addends * self.lowest or sums.max() > addends * self.highest):
            raise malformed_sum("a slot holds more than its addends can reach")
        return sums

    def read_addend_count(self, plain: PackedPlaintext) -> int:
        """How many contributors were added, from the count slot of every plaintext. Raises InputError without one."""
        raise InputError(
            f"the layout {self.name} has no count slot",
            expected="a layout that carries the number of addends",
            got=self.name,
            cure="use 'balanced', or pass addend_count from the protocol",
        )

    def _known_addend_count(self, limbs: LimbArray, addend_count: int | None) -> int:
        return self.max_addends if addend_count is None else addend_count

    @abstractmethod
    def _read(self, limbs: LimbArray, addend_count: int) -> IntArray:
        """The slots' sums, (count, slots), of integers in [0, 2^plaintext_bits)."""

    def _check_plaintext_count(self, plain: PackedPlaintext, value_count: int) -> None:
        expected = self.plaintext_count(value_count)
        if len(plain) != expected:
            raise InputError(
                "the number of plaintexts does not belong to the number of values",
                expected=f"{expected} plaintexts for {value_count} values",
                got=f"{len(plain)}",
                cure="decode with the layout and the value count that were packed",
            )

    def _fitting_limbs(self, limbs: LimbArray) -> LimbArray:
        """The same integers with `limb_count` limbs. Raises BoundError for one that is negative or above sum_bound."""
        kept = self.limb_count
        used_bits = self.sum_bound.bit_length()
        # Two's complement: negative integers have the top bit, and no sum of contributors is negative.
        if (limbs[:, -1] >> np.uint64(LIMB_BITS - 1)).any() or limbs[:, kept:].any():
            raise malformed_sum("a plaintext is negative or too large")
        if limbs.shape[1] < kept:
            limbs = array_module(limbs).pad(limbs, ((0, 0), (0, kept - limbs.shape[1])))
        top_limb, top_bit = divmod(used_bits, LIMB_BITS)
        if (limbs[:, top_limb] >> np.uint64(top_bit)).any() or limbs[:, top_limb + 1 : kept].any():
            raise malformed_sum("a plaintext is too large")
        return limbs[:, :kept]


def ceil_log2(count: int) -> int:
    """Bits that hold 0 .. count - 1: the smallest b with 2^b >= count, for count >= 1."""
    return (count - 1).bit_length()


def check_count(what: str, count: int, lowest: int, highest: int | None) -> None:
    """Raise InputError unless `count` is an integer from `lowest` to `highest` (None: no limit)."""
    is_integer = isinstance(count, (int, np.integer)) and not isinstance(count, bool)
    if not is_integer or count < lowest or (highest is not None and count > highest):
        raise InputError(
            f"{what} was refused",
            expected=f"an integer of at least {lowest}" + ("" if highest is None else f" and at most {highest}"),
            got=repr(count) if is_integer else f"a {type(count).__name__}",
        )


def malformed_sum(what: str) -> BoundError:
    """The error for a decrypted sum that contributors with this layout cannot have made."""
    return BoundError(
        f"a decrypted sum was refused: {what}",
        expected="the sum of plaintexts packed by this layout under this key",
        got="another integer",
        cure="check that every contributor packed with the same job settings, and who could alter ciphertexts",
    )
