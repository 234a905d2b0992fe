"""Conformance: elements plus encryptions of zero, against products of big integers and the single operations."""

from __future__ import annotations

from functools import cache

import gmpy2
import numpy as np
import pytest

from hekat.engine.ring.interface import CBD_BOUND
from hekat.engine.select import get_engine


def product(small, coefficients, p):
    """v a in Z_p[X] / (X^N + 1), by one product of big integers."""
    degree, width = len(coefficients), 2 * p.bit_length() + 16
    packed = [gmpy2.pack([int(x) % p for x in values], width) for values in (small, coefficients)]
    full = [int(x) for x in gmpy2.unpack(packed[0] * packed[1], width)]
    full += [0] * (2 * degree - len(full))
    return np.array([(low - high) % p for low, high in zip(full[:degree], full[degree:], strict=True)], object)


@cache
def arguments_and_result(ring, oracle_random, count, depth, seed, extreme):
    """Random arguments, or small numbers at their bound and elements at their end; and what should come out."""
    rng = np.random.default_rng([seed, ring.degree])
    elements, pair = oracle_random(ring, (count, depth), seed), oracle_random(ring, (depth,), seed + 1)
    small = rng.integers(-CBD_BOUND, CBD_BOUND, (count, 2, ring.degree), endpoint=True).astype(np.int8)
    if extreme:
        small[...] = np.where(small < 0, -CBD_BOUND, CBD_BOUND)
        elements[...] = np.array(ring.primes, np.uint64)[:, np.newaxis] - np.uint64(1)
        pair[...] = elements[0]
    reference = get_engine("reference")
    plain, plain_pair = reference.ring_intt(ring, elements), reference.ring_intt(ring, pair)
    expected = plain.astype(object)
    for i in range(count):
        for number, p in enumerate(ring.primes):
            for d in range(depth):
                expected[i, d, number] += product(small[i, 0], plain_pair[d, number], p)
            expected[i, 0, number] += small[i, 1].astype(object)
    return elements, small, pair, expected % np.array(ring.primes, object)[:, np.newaxis]


def check(engine, ring, oracle, count=1, depth=2, seed=1, extreme=False):
    elements, small, pair, expected = arguments_and_result(ring, oracle.random, count, depth, seed, extreme)
    kept = [x.copy() for x in (elements, small, pair)]
    found = engine.ring_add_zeros(ring, elements, small, pair)
    assert found.dtype == np.uint64
    assert np.array_equal(found, expected.astype(np.uint64))
    assert all(np.array_equal(x, y) for x, y in zip((elements, small, pair), kept, strict=True))


def test_every_ring(engine, ring, oracle):
    check(engine, ring, oracle)


@pytest.fixture
def small_ring(oracle):
    return oracle.make_ring(1024, oracle.primes_below(50, 1024, 2))


@pytest.mark.parametrize(("count", "depth"), [(1, 1), (3, 1), (2, 4), (5, 3)])
def test_counts_and_depths(engine, oracle, small_ring, count, depth):
    check(engine, small_ring, oracle, count, depth, seed=2)


def test_ends_of_the_ranges(engine, oracle, small_ring):
    check(engine, small_ring, oracle, seed=3, extreme=True)


def test_nothing_is_nothing(engine, small_ring):
    shape = (2, 1024)
    for count, depth in ((0, 2), (2, 0), (0, 0)):
        elements, pair = np.zeros((count, depth, *shape), np.uint64), np.zeros((depth, *shape), np.uint64)
        assert engine.ring_add_zeros(small_ring, elements, np.zeros((count, 2, 1024), np.int8), pair).shape == (
            count,
            depth,
            *shape,
        )


def test_arguments_that_lie_otherwise_in_memory(engine, oracle, small_ring):
    elements, small, pair, expected = arguments_and_result(small_ring, oracle.random, 2, 2, 4, False)
    turned = [np.ascontiguousarray(np.moveaxis(x, 0, -1)) for x in (elements, small, pair)]
    found = engine.ring_add_zeros(small_ring, *(np.moveaxis(x, -1, 0) for x in turned))
    assert np.array_equal(found, expected.astype(np.uint64))
