"""Conformance: rings of polynomials in a power of X have the slots of the ring of all coefficients."""

from __future__ import annotations

import numpy as np
import pytest

from hekat.engine.ring.parameters import Ring, shorten
from hekat.errors import InputError


@pytest.fixture
def long_ring(oracle):
    return oracle.make_ring(8192, oracle.primes_below(50, 8192, 2))


@pytest.mark.quick_values
@pytest.mark.parametrize("stride", [1, 2, 4, 8])
def test_a_short_transform_has_the_slots_of_the_long_one(engine, oracle, long_ring, stride):
    short = shorten(long_ring, stride)
    own = oracle.random(short, (2,), 71 + stride)
    whole = np.zeros((2, *long_ring.element_shape), np.uint64)
    whole[..., ::stride] = own
    slots = engine.ring_ntt(short, own)
    assert np.array_equal(np.repeat(slots, stride, axis=-1), engine.ring_ntt(long_ring, whole))
    assert np.array_equal(engine.ring_intt(short, slots), own)


@pytest.mark.quick_values
@pytest.mark.parametrize("stride", [2, 4, 8])
@pytest.mark.parametrize(("rows", "terms", "columns"), [(1, 1, 1), (3, 9, 2), (2, 3, 7), (1, 2, 5)])
def test_short_elements_multiply_as_if_they_were_repeated(engine, oracle, stride, rows, terms, columns):
    ring = oracle.make_ring(1024, oracle.primes_below(50, 8192, 2))
    seed = 1000 * stride + 100 * rows + 10 * terms + columns
    whole, b = oracle.random(ring, (rows, terms), seed), oracle.random(ring, (terms, columns), seed + 1)
    a = np.ascontiguousarray(whole[..., ::stride])
    found = engine.ring_dot(ring, a, b)
    assert np.array_equal(found, engine.ring_dot(ring, np.repeat(a, stride, axis=-1), b))


@pytest.mark.parametrize("slots", [0, 1, 64, 100, 512 + 256])
def test_elements_of_another_length_are_refused(engine, oracle, slots):
    ring = oracle.make_ring(1024, oracle.primes_below(50, 8192, 2))
    a, b = np.zeros((1, 1, 2, slots), np.uint64), np.zeros((1, 1, 2, 1024), np.uint64)
    with pytest.raises(InputError, match="wrong layout"):
        engine.ring_dot(ring, a, b)


def test_a_short_residue_beyond_its_prime_is_refused(engine, oracle):
    ring = oracle.make_ring(1024, oracle.primes_below(50, 8192, 2))
    a, b = np.zeros((1, 1, 2, 128), np.uint64), np.zeros((1, 1, 2, 1024), np.uint64)
    a[0, 0, 1, 5] = ring.primes[1]
    with pytest.raises(InputError, match="not below its prime"):
        engine.ring_dot(ring, a, b)


def test_strides_that_no_ring_has_are_refused(oracle):
    primes = oracle.primes_below(50, 8192, 1)
    for degree, stride in ((1024, 3), (1024, 16), (2048, 0)):
        with pytest.raises(InputError, match="stride of a ring"):
            Ring(degree, primes, stride)
    with pytest.raises(InputError, match="ring degree"):
        shorten(Ring(1024, primes), 2)
    # 1 mod 2 N, but not mod 2 N stride: the larger ring has no root.
    short = next(p for p in oracle.primes_below(50, 1024, 40) if p % 4096 != 1)
    with pytest.raises(InputError, match="prime of a ring"):
        Ring(1024, (short,), 2)
