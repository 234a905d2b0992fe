"""Conformance: matrix products of elements, slot by slot, against NumPy's integers of any size."""

from __future__ import annotations

import numpy as np
import pytest


def expected(ring, a, b):
    primes = np.array(ring.primes, object)[:, np.newaxis]
    rows = [(row[:, np.newaxis].astype(object) * b.astype(object)).sum(axis=0) % primes for row in a]
    return np.array(rows, np.uint64).reshape(len(a), b.shape[1], *ring.element_shape)


def check(engine, ring, a, b):
    kept = a.copy(), b.copy()
    found = engine.ring_dot(ring, a, b)
    assert found.dtype == np.uint64
    assert np.array_equal(found, expected(ring, a, b))
    assert np.array_equal(a, kept[0])
    assert np.array_equal(b, kept[1])


@pytest.fixture
def small_ring(oracle):
    return oracle.make_ring(1024, oracle.primes_below(50, 1024, 2))


def test_every_ring(engine, ring, oracle):
    check(engine, ring, oracle.random(ring, (2, 2), 1), oracle.random(ring, (2, 1), 2))


@pytest.mark.quick_values
@pytest.mark.parametrize(
    ("rows", "terms", "columns"),
    [(1, 1, 1), (1, 5, 1), (3, 1, 2), (5, 3, 4), (2, 4, 7), (7, 2, 3), (9, 4, 2), (4, 9, 1), (1, 2, 5)],
)
def test_shapes(engine, oracle, small_ring, rows, terms, columns):
    seed = 100 * rows + 10 * terms + columns
    a, b = oracle.random(small_ring, (rows, terms), seed), oracle.random(small_ring, (terms, columns), seed + 1)
    check(engine, small_ring, a, b)


@pytest.mark.quick_values
@pytest.mark.parametrize("terms", [7, 33])
def test_ends_of_the_ranges(engine, ring, oracle, terms):
    """Sums of the largest products, and of all pairs of residues from the ends of [0, p)."""
    highest = oracle.primes(ring) - np.uint64(1)
    a = np.zeros((1, terms, *ring.element_shape), np.uint64) + highest
    b = np.zeros((terms, 1, *ring.element_shape), np.uint64) + highest
    for number, p in enumerate(ring.primes):
        ends = [0, 1, p // 2, p // 2 + 1, p - 2, p - 1]
        a[0, :, number, :36], b[:, 0, number, :36] = np.repeat(ends, 6), np.tile(ends, 6)
    check(engine, ring, a, b)


@pytest.mark.parametrize("terms", [2050, pytest.param(4100, marks=pytest.mark.long)])
def test_more_terms_than_halves_of_products_fit_a_word(engine, oracle, terms):
    """All largest: sums of lower halves of 52 bits come close to 2^63 at 2,048 terms, and pass 2^64 at 4,096."""
    ring = oracle.make_ring(1024, oracle.primes_below(50, 1024, 1))
    highest = np.full((1, 1, *ring.element_shape), ring.primes[0] - 1, np.uint64)
    largest_low = np.full((1, 1, *ring.element_shape), largest_lower_half(ring.primes[0]), np.uint64)
    for factor in (highest, largest_low):
        a, b = np.repeat(factor, terms, 1), np.repeat(highest, terms, 0)
        found = engine.ring_dot(ring, a, b)
        assert (found == terms * int(factor[0, 0, 0, 0]) * (ring.primes[0] - 1) % ring.primes[0]).all()


def largest_lower_half(p):
    """The x of some thousands at the end of [0, p) whose product with p - 1 has the largest lower 52 bits."""
    return max(range(p - 5000, p), key=lambda x: x * (p - 1) % (1 << 52))


def test_nothing_is_nothing(engine, small_ring):
    for rows, columns in ((0, 2), (3, 0), (0, 0)):
        a, b = np.zeros((rows, 2, 2, 1024), np.uint64), np.zeros((2, columns, 2, 1024), np.uint64)
        found = engine.ring_dot(small_ring, a, b)
        assert found.shape == (rows, columns, 2, 1024)
        assert found.dtype == np.uint64


@pytest.mark.parametrize("layout", ["reversed", "transposed", "read-only", "unaligned", "both"])
def test_arguments_that_lie_otherwise_in_memory(engine, oracle, small_ring, layout):
    plain = oracle.random(small_ring, (3, 3), 7)
    other = plain
    if layout == "reversed":
        other = np.ascontiguousarray(plain[::-1, :, :, ::-1])[::-1, :, :, ::-1]
    elif layout == "transposed":
        other = np.ascontiguousarray(plain.transpose(3, 1, 0, 2)).transpose(2, 1, 3, 0)
    elif layout == "read-only":
        other = plain.copy()
        other.flags.writeable = False
    elif layout == "unaligned":
        other = np.frombuffer(bytearray(b"\x00" + plain.tobytes()), np.uint64, offset=1).reshape(plain.shape)
    assert np.array_equal(engine.ring_dot(small_ring, other, other), expected(small_ring, plain, plain))
