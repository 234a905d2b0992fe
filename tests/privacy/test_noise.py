"""Noise: fresh under each call, in the shape asked for, under a key that is wiped."""

from __future__ import annotations

import os
from fractions import Fraction

import numpy as np
import pytest

from hekat.engine.select import get_engine
from hekat.errors import InputError
from hekat.privacy.noise import DiscreteGaussian, draw_noise

LAW = DiscreteGaussian.of_at_least(Fraction(1 << 40))


def test_two_draws_share_nothing():
    first, second = draw_noise(LAW, 200), draw_noise(LAW, 200)
    # Equal at a place with a chance below 2^-20, so at more than five of 200 below 2^-80.
    assert (first == second).sum() <= 5
    assert len(set(first.tolist())) > 190


def test_numbers_are_those_of_the_key_that_the_system_gave_and_the_key_is_wiped(monkeypatch):
    keys = []

    class Watched:
        def sample_discrete_gaussian(self, key, first_block, count, law):
            keys.append(key)
            return get_engine().sample_discrete_gaussian(key, first_block, count, law)

    monkeypatch.setattr(os, "urandom", lambda count: bytes(range(count)))
    noise = draw_noise(LAW, (2, 0, 3)), draw_noise(LAW, (2, 3), engine=Watched())
    assert noise[0].shape == (2, 0, 3)
    expected = get_engine("reference").sample_discrete_gaussian(bytes(range(32)), 0, 6, LAW)
    assert np.array_equal(noise[1], expected.reshape(2, 3))
    assert keys == [bytearray(32)]


@pytest.mark.parametrize("shape", [-1, (3, -1), (2.0,), (True,)])
def test_shapes_that_are_none_are_refused(shape):
    with pytest.raises(InputError, match="shape of noise refused"):
        draw_noise(LAW, shape)
