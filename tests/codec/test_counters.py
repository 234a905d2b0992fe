"""Counters as digits in lanes: their sums are exact for any number of parties and any width of lane."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hekat.codec.counters import (
    HIDING_BITS,
    counter_slots,
    decode_counter_sums,
    digit_count,
    encode_counters,
)
from hekat.codec.quantise import level_bound
from hekat.errors import BoundError

LEVELS = (1, 3, 126, 127, 255, 32767, 2**31 - 1)
HIDING = tuple(level for level in LEVELS if level >= level_bound(HIDING_BITS))


@given(data=st.data(), level=st.sampled_from(LEVELS), party_count=st.integers(1, 256))
def test_sums_are_exact(data, level, party_count) -> None:
    maxima = data.draw(st.lists(st.integers(1, 2**90), min_size=1, max_size=4))
    # A few distinct contributions, dealt out to all parties: as telling as party_count draws, and much faster.
    drawn = data.draw(st.lists(st.tuples(*(st.integers(0, top) for top in maxima)), min_size=1, max_size=3))
    contributions = [drawn[number % len(drawn)] for number in range(party_count)]
    lanes = sum(encode_counters(values, maxima, level) for values in contributions)
    sums = [sum(column) for column in zip(*contributions, strict=True)]
    assert decode_counter_sums(lanes, maxima, level, party_count) == sums


@given(maximum=st.integers(0, 2**100), level=st.sampled_from(LEVELS))
def test_the_largest_value_and_none_fit(maximum, level) -> None:
    for value in (0, maximum):
        digits = encode_counters([value], [maximum], level)
        assert digits.dtype == np.int64
        assert digits.size == digit_count(maximum, level) == counter_slots([maximum], level)
        assert digits.min() >= 0
        assert digits.max() <= level
        assert decode_counter_sums(digits, [maximum], level, 1) == [value]


@pytest.mark.parametrize("level", HIDING)
def test_digits_tell_nothing_but_the_sum(level) -> None:
    """Three ways to the same sum, whose plain digits have other sums: what opens has one distribution."""
    maximum, base = 2**40 - 1, 1 << ((level + 1) // 64).bit_length() - 1
    third = int("001" * 13, 2)
    opened = []
    for values in (
        [7 * third, 0, 0],
        [third, 2 * third, 4 * third],
        [third * 7 // 3] * 2 + [third * 7 - third * 7 // 3 * 2],
    ):
        draws = sum(encode_counters([value] * 400, [maximum] * 400, level) for value in values)
        assert set(decode_counter_sums(draws, [maximum] * 400, level, 3)) == {7 * third}
        opened.append(draws.reshape(400, -1)[:, :-1])
    spread = 4 * base * np.sqrt(3)
    for one in opened:
        assert one.shape == opened[0].shape
        assert np.all(np.abs(one.mean(axis=0) - 3 * 32 * base) < 8 * spread / np.sqrt(400))
        assert np.all(np.abs(one.std(axis=0) / spread - 1) < 8 / np.sqrt(800))
    # The lowest digit's remainder is the sum's own.
    assert {int(digit) % base for one in opened for digit in one[:, :1].ravel()} <= {7 * third % base}


def test_narrow_slots_open_digits_as_they_are() -> None:
    level = level_bound(HIDING_BITS - 1)
    assert encode_counters([1000], [1000], level).tolist() == [1000 % 64, 1000 // 64]


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("party_count", [1, 2, 256])
def test_all_parties_at_the_maximum(level, party_count) -> None:
    maxima = [level, level + 1, 2**76, 1]
    lanes = party_count * encode_counters(maxima, maxima, level)
    assert lanes.max() <= party_count * level
    assert decode_counter_sums(lanes, maxima, level, party_count) == [party_count * value for value in maxima]


@pytest.mark.parametrize("value", [-1, 11])
def test_a_counter_beyond_its_range_is_refused_without_its_value(value) -> None:
    with pytest.raises(BoundError, match="counter 1") as caught:
        encode_counters([5, value], [10, 10], 127)
    assert str(value) not in str(caught.value).replace("counter 1 ", "").replace("0 to 10", "")
