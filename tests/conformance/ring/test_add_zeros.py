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
def arguments_and_results(ring, oracle_random, count, components, window, seed, extreme):
    """Random arguments, or small numbers at their bound and elements at their end; and what should come out."""
    rng = np.random.default_rng([seed, ring.degree])
    depth = 1 + components
    elements, pair = oracle_random(ring, (count, depth), seed), oracle_random(ring, (depth,), seed + 1)
    small = rng.integers(-CBD_BOUND, CBD_BOUND, (count, 2, ring.degree), endpoint=True).astype(np.int8)
    if extreme:
        small[...] = np.where(small < 0, -CBD_BOUND, CBD_BOUND)
        elements[...] = np.array(ring.primes, np.uint64)[:, np.newaxis] - np.uint64(1)
        pair[...] = elements[0]
    reference = get_engine("reference")
    plain_pair = reference.ring_intt(ring, pair)
    windows = np.ascontiguousarray(elements[:, 1:, :, :window])
    # First halves come as coefficients, and only their first.
    expected = elements.astype(object)
    expected[:, 0] = reference.ring_intt(ring, np.ascontiguousarray(elements[:, 0]))
    for i in range(count):
        for number, p in enumerate(ring.primes):
            for d in range(depth):
                expected[i, d, number] += product(small[i, 0], plain_pair[d, number], p)
            expected[i, 0, number] += small[i, 1].astype(object)
    expected %= np.array(ring.primes, object)[:, np.newaxis]
    results = expected[:, 0].astype(np.uint64), expected[:, 1:, :, :window].astype(np.uint64)
    return (np.ascontiguousarray(elements[:, 0]), windows, small, pair), results


def check(engine, ring, oracle, count=1, components=1, window=8, seed=1, extreme=False):
    arguments, expected = arguments_and_results(ring, oracle.random, count, components, window, seed, extreme)
    kept = [x.copy() for x in arguments]
    found = engine.ring_add_zeros(ring, *arguments)
    for sums, right in zip(found, expected, strict=True):
        assert sums.dtype == np.uint64
        assert np.array_equal(sums, right)
    assert all(np.array_equal(x, y) for x, y in zip(arguments, kept, strict=True))


def test_every_ring(engine, ring, oracle):
    check(engine, ring, oracle)


@pytest.fixture
def small_ring(oracle):
    return oracle.make_ring(1024, oracle.primes_below(50, 1024, 2))


@pytest.mark.quick_values
@pytest.mark.parametrize(("count", "components"), [(1, 0), (3, 0), (2, 3), (5, 2)])
def test_counts_and_components(engine, oracle, small_ring, count, components):
    check(engine, small_ring, oracle, count, components, seed=2)


@pytest.mark.quick_values
@pytest.mark.parametrize("window", [1, 2, 4, 8, 16, 32, 64, 128, 1024])
def test_windows(engine, oracle, small_ring, window):
    check(engine, small_ring, oracle, 2, 2, window, seed=5, extreme=window in (8, 64, 1024))


def test_ends_of_the_ranges(engine, oracle, small_ring):
    check(engine, small_ring, oracle, seed=3, extreme=True)


def test_nothing_is_nothing(engine, small_ring):
    for count, components in ((0, 2), (0, 0)):
        elements, pair = np.zeros((count, 2, 1024), np.uint64), np.zeros((1 + components, 2, 1024), np.uint64)
        windows = np.zeros((count, components, 2, 4), np.uint64)
        found = engine.ring_add_zeros(small_ring, elements, windows, np.zeros((count, 2, 1024), np.int8), pair)
        assert [x.shape for x in found] == [elements.shape, windows.shape]


def test_arguments_that_lie_otherwise_in_memory(engine, oracle, small_ring):
    arguments, expected = arguments_and_results(small_ring, oracle.random, 2, 2, 8, 4, False)
    turned = [np.ascontiguousarray(np.moveaxis(x, 0, -1)) for x in arguments]
    found = engine.ring_add_zeros(small_ring, *(np.moveaxis(x, -1, 0) for x in turned))
    assert all(np.array_equal(x, y) for x, y in zip(found, expected, strict=True))


@pytest.mark.quick_values
@pytest.mark.parametrize("window", [1, 8, 32, 64, 256, 1024])
def test_first_products(engine, oracle, small_ring, window):
    """The first coefficients of the whole products, which single operations make."""
    a, b = oracle.random(small_ring, (3,), 6), oracle.random(small_ring, (2,), 7)
    a[0] = b[0] = np.array(small_ring.primes, np.uint64)[:, np.newaxis] - np.uint64(1)
    reference = get_engine("reference")
    whole = reference.ring_intt(small_ring, reference.ring_mul(small_ring, a[:, np.newaxis], b))
    found = engine.ring_first_products(small_ring, a, b, window)
    assert found.dtype == np.uint64
    assert np.array_equal(found, whole[..., :window])
    assert engine.ring_first_products(small_ring, a[:0], b, window).shape == (0, 2, 2, window)


def test_first_products_of_every_ring(engine, ring, oracle):
    a, b = oracle.random(ring, (1,), 8), oracle.random(ring, (1,), 9)
    whole = engine.ring_intt(ring, engine.ring_mul(ring, a, b))
    assert np.array_equal(engine.ring_first_products(ring, a, b, 8)[0], whole[..., :8])
