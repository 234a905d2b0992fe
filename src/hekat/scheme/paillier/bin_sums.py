"""Sums of encrypted rows by bins of columns: the histograms from which trees are grown.

The key's holder encrypts the few small integers of each row (its components, such as gradient and hessian) side by side
in one plaintext. Whoever has the rows' bins multiplies ciphertexts bin by bin, shifts many sums into one plaintext and
re-randomises the result: a uniform encryption of those sums, under a key that is proven to permute, from which its
holder learns the sums and nothing else, however it made the rows' ciphertexts.

Every field is wide enough for the sum of all rows, so that no sum carries into its neighbour. Fields are signed: a
plaintext is sum_k S_k 2^(field_bits k), and adding each field's lowest sum makes them plain unsigned fields.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from hekat.engine.interface import IndexArray
from hekat.engine.limb_slots import add_constant, read_slots, write_slots
from hekat.engine.limbs import limbs_for_bits
from hekat.errors import BoundError, InputError
from hekat.plaintext_space import PackedPlaintext
from hekat.scheme.paillier.ciphertexts import Ciphertexts
from hekat.scheme.paillier.decrypt import decrypt
from hekat.scheme.paillier.encrypt import encrypt
from hekat.scheme.paillier.evaluate import add, multiply_plain, rerandomise, segment_sum
from hekat.scheme.paillier.joint_columns import plan_sums
from hekat.scheme.paillier.keys.key_pair import PrivateKey, PublicKey

MAX_FIELD_BITS: Final = 62
# Addends of one engine operation: bounds the memory of their indices.
BLOCK_ADDENDS: Final = 6 << 20

IntArray = npt.NDArray[np.int64]


@dataclass(frozen=True)
class BinSumLayout:
    """Where components of sums of up to `row_count` rows stand: lows[c] <= x_c <= highs[c] in each row.

    All of it is public. Make it with `bin_sum_layout`, which checks that it fits.
    """

    lows: tuple[int, ...]
    highs: tuple[int, ...]
    row_count: int
    plaintext_bits: int

    @property
    def component_count(self) -> int:
        return len(self.lows)

    @property
    def field_bits(self) -> int:
        """Bits of one component of a sum."""
        spans = (high - low for low, high in zip(self.lows, self.highs, strict=True))
        return max(1, (self.row_count * max(spans)).bit_length())

    @property
    def slot_bits(self) -> int:
        """Bits of one sum: all its components."""
        return self.field_bits * self.component_count

    @property
    def slots(self) -> int:
        """The most sums in one plaintext."""
        return self.plaintext_bits // self.slot_bits

    def packed_shape(self, sum_count: int) -> tuple[int, int]:
        """Ciphertexts that `sum_count` sums take, and the sums in each; the last one may have empty slots."""
        ciphertext_count = ceil(sum_count / self.slots)
        return ciphertext_count, ceil(sum_count / max(ciphertext_count, 1))

    def offsets(self, row_count: int, slots: int) -> int:
        """The plaintext whose fields, in `slots` slots, hold the lowest sums of `row_count` rows."""
        slot = sum(row_count * low << (self.field_bits * c) for c, low in enumerate(self.lows))
        return sum(slot << (self.slot_bits * j) for j in range(slots))


def bin_sum_layout(public: PublicKey, lows: tuple[int, ...], highs: tuple[int, ...], row_count: int) -> BinSumLayout:
    """The layout for sums of up to `row_count` rows whose components c are in [lows[c], highs[c]], lows <= 0 <= highs.

    Raises InputError for ranges without 0 or no rows, BoundError where one sum does not fit into a plaintext.
    """
    is_range = len(lows) == len(highs) > 0 and all(low <= 0 <= high for low, high in zip(lows, highs, strict=True))
    if not is_range or row_count < 1:
        raise InputError(
            "components of rows refused",
            expected="one range with 0 in it for each component, and a row or more",
            got=f"{len(lows)} and {len(highs)} ends, {row_count:,} rows",
        )
    layout = BinSumLayout(lows, highs, row_count, public.plaintext_space.bits)
    if layout.field_bits > MAX_FIELD_BITS or layout.slots < 1:
        raise BoundError(
            "the key has no room for the sums of rows",
            expected=f"sums below 2^{MAX_FIELD_BITS}, and all components of one in {layout.plaintext_bits} bits",
            got=f"{layout.component_count} components of {layout.field_bits} bits",
            cure="use fewer bits for each row's values, fewer components at a time, or a larger key",
        )
    return layout


def encrypt_rows(key: PrivateKey | PublicKey, values: IntArray, layout: BinSumLayout) -> Ciphertexts:
    """Integers (rows, components) as one fresh ciphertext for each row, shape (rows,).

    Raises InputError for another number of components, BoundError for a value out of its range, without it.
    """
    if values.ndim != 2 or values.shape[1] != layout.component_count or values.dtype != np.int64:
        raise InputError(
            "values of rows refused",
            expected=f"int64 of shape (rows, {layout.component_count})",
            got=f"{values.dtype} of shape {values.shape}",
        )
    lows = np.array(layout.lows, np.int64)
    if (values < lows).any() or (values > np.array(layout.highs, np.int64)).any():
        raise BoundError("a row's value is out of its range", expected="values within the layout", got="another one")
    limb_count = limbs_for_bits(layout.slot_bits + 1)
    lifted = write_slots((values - lows).astype(np.uint64), layout.field_bits, limb_count)
    return encrypt(key, PackedPlaintext(add_constant(lifted, layout.offsets(1, 1)), (1 << layout.slot_bits) - 1))


def sum_bins(
    rows: Ciphertexts, digits: npt.NDArray[Any], positions: IndexArray, starts: IndexArray, bin_count: int
) -> Ciphertexts:
    """Ciphertexts of the sums of rows by segment and digit, shape (segments, bin_count); not re-randomised.

    `digits`: integers (columns, count) below `bin_count`; each column's digit of the row `positions[i]`, -1 where that
    row has no part in any of the column's sums. `starts` (segments + 1,), ascending, cuts up range(count): segment s
    has the rows from starts[s] to starts[s + 1] - 1. Sum (s, d) is over all rows of segment s and columns with digit d.
    Memory access and time depend on digits: compute it where they may be known.
    Raises InputError for shapes that do not fit, digits or positions out of range.
    """
    segment_count = starts.size - 1
    _check_bins(digits, positions, starts, bin_count)
    first, last = int(starts[0]), int(starts[-1])
    segment_of = np.repeat(np.arange(segment_count, dtype=np.int64), np.diff(starts))
    step = max(1, BLOCK_ADDENDS // max(last - first, 1))
    total = None
    for start in range(0, max(len(digits), 1), step):
        plan = plan_sums(digits[start : start + step, first:last], segment_of, bin_count)
        cells = segment_sum(rows, plan.cells, plan.cell_count, positions[first + plan.places])
        part = segment_sum(cells, plan.sums, segment_count * bin_count, plan.parts)
        total = part if total is None else add(total, part)
    assert total is not None  # one block at least, so that no columns give sums of nothing
    return total.reshape(segment_count, bin_count)


def pack_sums(sums: Ciphertexts, layout: BinSumLayout) -> Ciphertexts:
    """Sums (count,) side by side in as few ciphertexts as hold them, re-randomised: what may go to the key's holder."""
    count, slots = layout.packed_shape(sums.size)
    if count == 0:
        return sums
    # Sum k stands in slot k // count of ciphertext k % count, so that every step works on neighbours.
    total = sums[(slots - 1) * count :]
    for slot in reversed(range(slots - 1)):
        shifted = multiply_plain(total, 1 << layout.slot_bits)
        members = sums[slot * count : (slot + 1) * count]
        total = add(members[: len(shifted)], shifted)
        if len(shifted) < count:  # the highest slot is empty in some
            total = Ciphertexts.concatenate([total, members[len(shifted) :]])
    return rerandomise(total)


def open_sums(
    key: PrivateKey, packed: Ciphertexts, layout: BinSumLayout, row_counts: int | IntArray, sum_count: int
) -> IntArray:
    """The sums in the answer of `pack_sums`, shape (sum_count, components), int64.

    `row_counts`: the most rows in a sum, one number for all or one for each.
    Raises InputError for another number of ciphertexts or one that is no unit, BoundError, without the value, where a
    sum is beyond what so many rows can have or an empty slot is filled: its sender broke the rules.
    """
    count, slots = layout.packed_shape(sum_count)
    if packed.shape != (count,):
        raise InputError("sums refused", expected=f"{count} ciphertexts", got=f"shape {packed.shape}")
    rows = np.broadcast_to(np.asarray(row_counts, np.int64), (sum_count,))
    if sum_count and not 0 <= int(rows.min()) <= int(rows.max()) <= layout.row_count:
        raise InputError("row counts refused", expected=f"0 to {layout.row_count}", got=f"up to {int(rows.max())}")
    if not sum_count:
        return np.zeros((0, layout.component_count), np.int64)
    lifted = add_constant(decrypt(key, packed).limbs, -layout.offsets(layout.row_count, slots))
    used_bits = slots * layout.slot_bits
    limb, bit = divmod(used_bits, 64)
    beyond = lifted[:, limb:].copy()
    if beyond.shape[1]:
        beyond[:, 0] >>= np.uint64(bit)
    fields = read_slots(lifted, layout.field_bits, slots * layout.component_count)
    lows, highs = (np.array(ends, np.int64) for ends in (layout.lows, layout.highs))
    values = fields.astype(np.int64).reshape(count, slots, layout.component_count) + layout.row_count * lows
    in_order = values.transpose(1, 0, 2).reshape(slots * count, layout.component_count)
    found, empty = in_order[:sum_count], in_order[sum_count:]
    least, most = rows[:, np.newaxis] * lows, rows[:, np.newaxis] * highs
    if beyond.any() or empty.any() or (found < least).any() or (found > most).any():
        raise BoundError(
            "opened sums are beyond what the rows can have",
            expected="sums of so many rows of values within their ranges",
            got="another one",
            cure="its sender computed on other ciphertexts, or breaks the rules: do not use the answer",
        )
    return np.ascontiguousarray(found)


def _check_bins(digits: npt.NDArray[Any], positions: IndexArray, starts: IndexArray, bin_count: int) -> None:
    fits = digits.ndim == 2 and positions.shape == digits.shape[1:] and starts.ndim == 1 and starts.size >= 1
    ascends = fits and int(starts[0]) >= 0 and int(starts[-1]) <= len(positions) and (np.diff(starts) >= 0).all()
    if not ascends:
        raise InputError(
            "bins do not fit their rows",
            expected="digits (columns, count), positions (count,), and ascending starts within the count",
            got=f"digits {digits.shape}, positions {positions.shape}, starts {starts.shape}",
        )
    if digits.dtype.kind != "i" or (digits.size and not -1 <= int(digits.min()) <= int(digits.max()) < bin_count):
        raise InputError(
            "digits refused", expected=f"signed integers from -1 to {bin_count - 1}", got=f"others, {digits.dtype}"
        )
