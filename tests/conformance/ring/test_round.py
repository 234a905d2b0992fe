"""Conformance: numbers known by their residues as fractions of their modulus, against Python's integers."""

from __future__ import annotations

from math import prod

import numpy as np
import pytest

BITS = (1, 2, 25, 31, 52, 59, 60, 63, 64, 65, 100, 104, 116, 127, 128)


@pytest.fixture
def primes_of(oracle):
    """Moduli of so many primes: the greatest below 2^50, and others of all sizes."""
    greatest = oracle.primes_below(50, 8192, 8)
    small = (2, 3, 65537, 12289, 40961, 281474976694273, 1125899906826241, 5)

    def choose(count, kind):
        return {"greatest": greatest, "small": small, "bfv": oracle.primes_below(48, 8192, 8)}[kind][:count]

    return choose


def residues(numbers, primes):
    return np.array([[u % p for p in primes] for u in numbers], np.uint64).reshape(-1, len(primes))


def check(engine, primes, numbers, bits):
    found = engine.ring_round(primes, residues(numbers, primes), bits)
    fractions = [(u << bits) // prod(primes) for u in numbers]
    assert found.dtype == np.uint64
    assert np.array_equal(found, np.array([(x % 2**64, x >> 64) for x in fractions], np.uint64).reshape(-1, 2))


def numbers_at_edges(q, bits):
    """Ends of the range, multiples of q / 2^bits, where the result steps, and both their neighbours."""
    steps = [1, 2, 3, (1 << bits) // 2, (1 << bits) // 3, (1 << bits) - 1]
    near = [-(-k * q >> bits) + d for k in steps for d in (-2, -1, 0, 1)]
    return [u for u in (0, 1, 2, q // 2 - 1, q // 2, q // 2 + 1, q - 2, q - 1, *near) if 0 <= u < q]


@pytest.mark.quick_values
@pytest.mark.parametrize("kind", ["greatest", "small", "bfv"])
@pytest.mark.parametrize("count", range(1, 9))
def test_edges(engine, primes_of, count, kind):
    primes = primes_of(count, kind)
    for bits in BITS:
        check(engine, primes, numbers_at_edges(prod(primes), bits), bits)


@pytest.mark.parametrize(("count", "bits"), [(2, 60), (4, 60), (3, 128), (4, 128), (8, 128)])
def test_random_numbers(engine, primes_of, count, bits):
    primes = primes_of(count, "bfv")
    rng = np.random.default_rng([count, bits])
    numbers = [int.from_bytes(rng.bytes(64), "little") % prod(primes) for _ in range(517)]
    check(engine, primes, numbers, bits)


@pytest.mark.parametrize("count", [0, 1, 7, 8, 9, 511, 512, 513, 1030])
def test_counts(engine, primes_of, count):
    primes = primes_of(3, "greatest")
    rng = np.random.default_rng(count)
    check(engine, primes, [int.from_bytes(rng.bytes(40), "little") % prod(primes) for _ in range(count)], 77)


def test_every_small_number(engine):
    """All u of a small modulus, all bits."""
    primes = (3, 5, 7)
    for bits in range(1, 129):
        check(engine, primes, range(105), bits)


def test_arguments_that_lie_otherwise_in_memory(engine, primes_of):
    primes = primes_of(4, "bfv")
    numbers = [prod(primes) * k // 41 for k in range(41)]
    right = engine.ring_round(primes, residues(numbers, primes), 60)
    others = np.asfortranarray(residues(numbers, primes)), residues(numbers[::-1], primes)[::-1]
    for other in others:
        assert np.array_equal(engine.ring_round(primes, other, 60), right)
