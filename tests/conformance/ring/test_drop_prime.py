"""Conformance: numbers over one of their primes, to the nearest integer, against Python's integers."""

from __future__ import annotations

import numpy as np
import pytest


def check(engine, ring, oracle, prime, numbers):
    """`numbers` (..., N), integers of any size."""
    elements, last = oracle.lift(ring, numbers), (numbers % prime).astype(np.uint64)
    kept = elements.copy(), last.copy()
    found = engine.ring_drop_prime(ring, elements, last, prime)
    nearest = (numbers + prime // 2) // prime
    assert found.dtype == np.uint64
    assert np.array_equal(found, oracle.lift(ring, nearest))
    assert np.array_equal(elements, kept[0])
    assert np.array_equal(last, kept[1])


def some_numbers(ring, prime, shape, seed):
    """Uniform mod q and the prime, with the ends and what lies about halves of the prime among them."""
    rng, q = np.random.default_rng([seed, prime % 2**32]), ring.modulus * prime
    count = int(np.prod(shape)) * ring.degree
    numbers = [int.from_bytes(rng.bytes(24), "little") % q for _ in range(count)]
    near = [k * prime + d for k in (0, 1, q // prime // 2) for d in (0, 1, prime // 2, prime // 2 + 1, prime - 1)]
    edges = [*near, q - 1, q - prime // 2 - 1, q - prime // 2]
    numbers[: len(edges)] = edges
    return np.array(numbers, object).reshape(*shape, ring.degree)


def test_every_ring(engine, ring, oracle):
    prime = oracle.primes_below(50, ring.degree, 4)[-1]
    check(engine, ring, oracle, prime, some_numbers(ring, prime, (1,), 1))


@pytest.mark.parametrize("prime", [3, 5, 257, 12289, 65537, 2**31 - 1, 281474976694273])
def test_primes_of_all_sizes(engine, oracle, prime):
    small, top = oracle.make_ring(1024, (40961,)), oracle.make_ring(1024, oracle.primes_below(50, 1024, 2))
    for ring in (small, top):
        check(engine, ring, oracle, prime, some_numbers(ring, prime, (1,), 2))


@pytest.mark.parametrize("shape", [(), (3,), (2, 2), (0,)])
def test_shapes(engine, oracle, shape):
    ring = oracle.make_ring(1024, oracle.primes_below(48, 1024, 2))
    prime = oracle.primes_below(48, 1024, 3)[-1]
    if 0 in shape:
        found = engine.ring_drop_prime(ring, np.zeros((0, 2, 1024), np.uint64), np.zeros((0, 1024), np.uint64), prime)
        assert (found.shape, found.dtype) == ((0, 2, 1024), np.uint64)
    else:
        check(engine, ring, oracle, prime, some_numbers(ring, prime, shape, 3))


def test_arguments_that_lie_otherwise_in_memory(engine, oracle):
    ring, prime = oracle.make_ring(1024, oracle.primes_below(50, 1024, 1)), 40961
    larger = oracle.random(oracle.make_ring(1024, oracle.primes_below(50, 1024, 2)), (3,), 4)
    last = np.random.default_rng(5).integers(0, prime, (1024, 3), np.uint64).T
    elements = larger[:, 1:] % np.uint64(ring.primes[0])
    right = engine.ring_drop_prime(ring, np.ascontiguousarray(elements), np.ascontiguousarray(last), prime)
    assert np.array_equal(engine.ring_drop_prime(ring, np.asfortranarray(elements), last, prime), right)
