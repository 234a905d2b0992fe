"""Truncated shares: off by less than one unit for any number and any shares of it, whatever the pads."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hekat.engine.limbs import limbs_from_ints
from hekat.protocol.shares.share_array import add_shares, random_shares, signed_integers, subtract
from hekat.protocol.shares.truncation import Truncation

RING = 1 << 128


def truncated(values, bits, guests, seed=bytes(32)):
    whole = limbs_from_ints([value % RING for value in values], 2)
    sides = [Truncation(seed, is_guest=is_guest) for is_guest in (True, False)]
    parts = [sides[0].truncate(guests, bits), sides[1].truncate(subtract(whole, guests), bits)]
    return signed_integers(add_shares(*parts))


@given(st.lists(st.integers(-(2**80), 2**80), min_size=1, max_size=20), st.integers(1, 100), st.binary(min_size=32))
def test_a_truncation_is_off_by_less_than_one(values, bits, seed):
    found = truncated(values, bits, random_shares((len(values),)), seed)
    # (result - 1) 2^bits < value < (result + 1) 2^bits; odds of another outcome: 2^-47 for each number.
    assert all(abs((int(one) << bits) - value) < 1 << bits for one, value in zip(found, values, strict=True))


@pytest.mark.parametrize("guest", [0, 1, RING - 1, RING // 2, 12345])
def test_shares_that_are_not_uniform_truncate_as_well(guest):
    values = [-7, 7, 0, -(2**70), 2**70]
    guests = limbs_from_ints([guest] * len(values), 2)
    found = truncated(values, 3, guests)
    assert all(abs((int(one) << 3) - value) < 8 for one, value in zip(found, values, strict=True))


def test_rescaling_to_a_finer_scale_is_exact():
    sides = [Truncation(bytes(32), is_guest=is_guest) for is_guest in (True, False)]
    guests = random_shares((3,))
    whole = limbs_from_ints([5, RING - 5, 0], 2)
    parts = [sides[0].rescale(guests, 4, 10), sides[1].rescale(subtract(whole, guests), 4, 10)]
    assert list(signed_integers(add_shares(*parts))) == [320, -320, 0]


def test_no_pad_comes_twice():
    side = Truncation(bytes(32), is_guest=True)
    zeros = np.zeros((4, 2), np.uint64)
    assert not np.array_equal(side.truncate(zeros, 1), side.truncate(zeros, 1))
