"""Sums of packed contributions decode exactly at the extremes, for 2 to 256 contributors, in every layout.

Contributions are added as Python integers, as a scheme's plaintexts are, then reduced mod a smallest fitting n to the
centred range, so that a bound missed by one would show.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hekat.codec import Layout, make_layout
from hekat.engine.limbs import ints_from_limbs, limbs_from_ints
from hekat.plaintext_space import PackedPlaintext, PlaintextSpace

LAYOUT_NAMES = ["balanced", "offset", "two_sign_bits"]
VALUE_BITS = [1, 2, 8, 16, 24, 32]


def smallest_modulus(plaintext_bits: int) -> int:
    """The smallest odd n whose centred residues reach 2^plaintext_bits - 1."""
    n = 2 ** (plaintext_bits + 1) - 1
    assert PlaintextSpace(bound=(n - 1) // 2).bits == plaintext_bits
    assert PlaintextSpace(bound=(n - 3) // 2).bits == plaintext_bits - 1
    return n


def add_as_plaintexts(layout: Layout, packed: list[PackedPlaintext], times: list[int]) -> PackedPlaintext:
    """The sum of times[i] copies of packed[i], reduced mod n to the centred range, with two limbs to spare."""
    totals = [0] * len(packed[0])
    for plain, repeat in zip(packed, times, strict=True):
        assert plain.bound == layout.bound
        values = ints_from_limbs(plain.limbs)
        assert all(0 <= value <= plain.bound for value in values)
        totals = [total + repeat * value for total, value in zip(totals, values, strict=True)]
    n = smallest_modulus(layout.plaintext_bits)
    centred = [(total + n // 2) % n - n // 2 for total in totals]
    assert centred == totals
    limb_count = layout.limb_count + 2
    wrapped = [value % 2 ** (64 * limb_count) for value in centred]
    return PackedPlaintext(limbs_from_ints(wrapped, limb_count), (n - 1) // 2)


def assert_sum_decodes(
    layout: Layout, rows: list[np.ndarray], times: list[int], packed: list[PackedPlaintext] | None = None
) -> None:
    """`packed` are the rows as packed before, where they are."""
    plain = add_as_plaintexts(layout, packed or [layout.pack(row) for row in rows], times)
    addends = sum(times)
    expected = sum(np.asarray(row, dtype=np.int64) * repeat for row, repeat in zip(rows, times, strict=True))
    decoded = layout.unpack(plain, rows[0].size, addends)
    assert decoded.dtype == np.int64
    np.testing.assert_array_equal(decoded, expected)
    if layout.has_count_slot:
        assert layout.read_addend_count(plain) == addends


def extremes(layout: Layout, count: int) -> list[np.ndarray]:
    """Rows that straddle every carry and borrow: all high, all low, alternating, one-sided neighbours, nothing."""
    low, high = layout.lowest, layout.highest
    middle = 0 if low < 0 else (high + 1) // 2
    patterns = [[high], [low], [low, high], [high, low], [low, middle], [middle, low], [high, middle], [middle, high]]
    patterns += [[middle], [middle, middle - 1 if middle > low else low], [low + 1, high - 1 if high > 0 else high]]
    return [np.resize(np.array(pattern, dtype=np.int64), count) for pattern in patterns]


# Where a sum needs one bit more, and the numbers beside.
NUMBERS = sorted({2**i + more for i in range(1, 9) for more in (-1, 0, 1)} & set(range(2, 257)))


@pytest.mark.quick_values
@pytest.mark.parametrize("numbers", [NUMBERS, pytest.param(range(2, 257), marks=pytest.mark.long)], ids=["some", "all"])
@pytest.mark.parametrize("bits", VALUE_BITS)
@pytest.mark.parametrize("name", LAYOUT_NAMES)
def test_equal_extremes_for_every_number_from_2_to_256(name: str, bits: int, numbers: Sequence[int]) -> None:
    for parties in numbers:
        layout = make_layout(name, value_bits=bits, max_addends=parties, plaintext_bits=260)
        count = 2 * layout.slots + 1
        for row in extremes(layout, count):
            assert_sum_decodes(layout, [row], [parties])


FEW = [2, 3, 128, 129, 256]
LONG = [pytest.param(parties, marks=pytest.mark.long) for parties in (4, 5, 7, 8, 9, 16, 17, 127, 255)]


@pytest.mark.quick_values
@pytest.mark.parametrize("parties", [*FEW, *LONG])
@pytest.mark.parametrize("bits", VALUE_BITS)
@pytest.mark.parametrize("name", LAYOUT_NAMES)
def test_mixed_extremes(name: str, bits: int, parties: int) -> None:
    """Contributors that pull apart: halves against each other, one against all, the one-sided neighbours of each."""
    layout = make_layout(name, value_bits=bits, max_addends=parties, plaintext_bits=509)
    rows = extremes(layout, layout.slots + 2)
    packed = [layout.pack(row) for row in rows[:6]]
    for first, second in product(range(6), repeat=2):
        for many in {1, parties // 2, parties - 1}:
            both = [packed[first], packed[second]]
            assert_sum_decodes(layout, [rows[first], rows[second]], [many, parties - many], both)
    assert_sum_decodes(layout, [rows[0], rows[1]], [1, 1])


@pytest.mark.quick_values
@pytest.mark.parametrize("seed", [11, pytest.param(12, marks=pytest.mark.long)])
@pytest.mark.parametrize("parties", [2, 3, 9, 64, 256])
@pytest.mark.parametrize("bits", VALUE_BITS)
@pytest.mark.parametrize("name", LAYOUT_NAMES)
def test_random_contributors(name: str, bits: int, parties: int, seed: int) -> None:
    rng = np.random.default_rng([seed, parties, bits])
    layout = make_layout(name, value_bits=bits, max_addends=parties, plaintext_bits=1023)
    count = layout.slots + 5
    rows = list(rng.integers(layout.lowest, layout.highest, size=(parties, count), endpoint=True))
    if layout.lowest < 0:
        rows[0] = np.where(rng.random(count) < 0.5, layout.lowest, layout.highest)
    assert_sum_decodes(layout, rows, [1] * parties)


@pytest.mark.parametrize("bits", [1, 16, 32])
@pytest.mark.parametrize("name", LAYOUT_NAMES)
def test_the_largest_number_of_contributors(name: str, bits: int) -> None:
    layout = make_layout(name, value_bits=bits, max_addends=65536, plaintext_bits=1023)
    for row in extremes(layout, layout.slots + 1):
        assert_sum_decodes(layout, [row], [65536])
        assert_sum_decodes(layout, [row], [65535])


@pytest.mark.long_cases("balanced")
@pytest.mark.parametrize("name", LAYOUT_NAMES)
def test_slots_end_anywhere_in_a_limb(name: str) -> None:
    for plaintext_bits in range(100, 200):
        layout = make_layout(name, value_bits=5, max_addends=6, plaintext_bits=plaintext_bits)
        for row in extremes(layout, layout.slots):
            assert_sum_decodes(layout, [row], [6])


@st.composite
def summed_contributions(draw: st.DrawFn) -> tuple[Layout, list[np.ndarray]]:
    name = draw(st.sampled_from(LAYOUT_NAMES))
    bits = draw(st.integers(1, 32))
    parties = draw(st.integers(1, 12))
    spare = draw(st.integers(0, 40))
    plaintext_bits = draw(st.integers(70, 700))
    layout = make_layout(name, value_bits=bits, max_addends=parties + spare, plaintext_bits=plaintext_bits)
    count = draw(st.integers(0, 2 * layout.slots + 1))
    edge = st.sampled_from([layout.lowest, layout.highest, 0, layout.lowest + 1, layout.highest - 1])
    value = st.one_of(edge, st.integers(layout.lowest, layout.highest))
    # A short row repeated: long lists say nothing more and shrink badly.
    row = st.lists(value, min_size=1, max_size=7).map(lambda r: np.resize(np.array(r, dtype=np.int64), count))
    return layout, draw(st.lists(row, min_size=parties, max_size=parties))


@pytest.mark.long
@given(summed_contributions())
@settings(max_examples=200, deadline=None)
def test_any_contributions_sum_exactly(case: tuple[Layout, list[np.ndarray]]) -> None:
    layout, rows = case
    if rows[0].size == 0:
        assert layout.unpack(layout.pack(rows[0]), 0, 1).size == 0
        return
    assert_sum_decodes(layout, rows, [1] * len(rows))


@pytest.mark.long
@given(summed_contributions())
@settings(max_examples=10_000, deadline=None)
def test_any_contributions_sum_exactly_at_length(case: tuple[Layout, list[np.ndarray]]) -> None:
    layout, rows = case
    if rows[0].size:
        assert_sum_decodes(layout, rows, [1] * len(rows))
