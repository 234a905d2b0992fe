"""Polynomials in a power of X take shorter transforms: slot for slot the transforms of all coefficients."""

from __future__ import annotations

import numpy as np
import pytest

from hekat.scheme.bfv import PRODUCTS
from hekat.scheme.bfv.shared_products.short_polynomials import gather_slots, short_ring, short_slots, spread_slots


@pytest.mark.parametrize("part", PRODUCTS.parts, ids=["first", "second"])
@pytest.mark.parametrize("stride", [1, 2, 4, 8])
def test_a_short_transform_has_the_slots_of_the_long_one(engine, part, stride) -> None:
    rng, short = np.random.default_rng(71), short_ring(part, stride)
    own = rng.integers(0, min(part.primes), (3, *short.element_shape), np.uint64)
    whole = np.zeros((3, *part.element_shape), np.uint64)
    whole[..., ::stride] = own
    slots = np.take_along_axis(engine.ring_ntt(short, own), short_slots(part, stride)[np.newaxis], axis=-1)
    assert np.array_equal(np.repeat(slots, stride, axis=-1), engine.ring_ntt(part, whole))


@pytest.mark.parametrize("stride", [1, 8])
def test_products_of_spread_slots_are_the_products_of_all_slots(engine, stride) -> None:
    part, rng = PRODUCTS.parts[0], np.random.default_rng(72)
    short = short_ring(part, stride)
    a = rng.integers(0, min(part.primes), (3, 2, *short.element_shape), np.uint64)
    b = rng.integers(0, min(part.primes), (2, 5, *part.element_shape), np.uint64)
    assert np.array_equal(gather_slots(spread_slots(b, stride), stride), b)
    found = gather_slots(engine.ring_dot(short, a, spread_slots(b, stride)), stride)
    assert np.array_equal(found, engine.ring_dot(part, np.repeat(a, stride, axis=-1), b))
