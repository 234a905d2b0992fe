"""Counters as digits in lanes: their sums are exact for any number of parties and any width of lane."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hekat.errors import BoundError
from hekat.protocol.secure_sum.counters import counter_slots, decode_counter_sums, digit_count, encode_counters

LEVELS = (1, 3, 127, 32767)


@given(data=st.data(), level=st.sampled_from(LEVELS), party_count=st.integers(1, 256))
def test_sums_are_exact(data, level, party_count) -> None:
    maxima = data.draw(st.lists(st.integers(1, 2**90), min_size=1, max_size=4))
    # A few distinct contributions, dealt out to all parties: as telling as party_count draws, and much faster.
    drawn = data.draw(st.lists(st.tuples(*(st.integers(0, top) for top in maxima)), min_size=1, max_size=3))
    contributions = [drawn[number % len(drawn)] for number in range(party_count)]
    lanes = sum(encode_counters(values, maxima, level) for values in contributions)
    assert decode_counter_sums(lanes, maxima, level) == [sum(column) for column in zip(*contributions, strict=True)]


@given(maximum=st.integers(0, 2**100), level=st.sampled_from(LEVELS))
def test_the_largest_value_fits_and_wastes_no_digit(maximum, level) -> None:
    digits = encode_counters([maximum], [maximum], level)
    assert digits.dtype == np.int64
    assert digits.size == digit_count(maximum, level) == counter_slots([maximum], level)
    assert digits.min() >= 0
    assert digits.max() <= level
    assert digits.size == 1 or digits[-1] > 0


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("party_count", [1, 2, 256])
def test_all_parties_at_the_maximum(level, party_count) -> None:
    maxima = [level, level + 1, 2**76, 1]
    lanes = party_count * encode_counters(maxima, maxima, level)
    assert lanes.max() <= party_count * level
    assert decode_counter_sums(lanes, maxima, level) == [party_count * value for value in maxima]


@pytest.mark.parametrize("value", [-1, 11])
def test_a_counter_beyond_its_range_is_refused_without_its_value(value) -> None:
    with pytest.raises(BoundError, match="counter 1") as caught:
        encode_counters([5, value], [10, 10], 127)
    assert str(value) not in str(caught.value).replace("counter 1 ", "").replace("0 to 10", "")
