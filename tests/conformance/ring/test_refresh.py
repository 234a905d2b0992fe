"""Conformance: ciphertexts plus encryptions of zero, and slots of integers, against the single operations."""

from __future__ import annotations

import numpy as np
import pytest

from hekat.engine.ring.interface import CBD_BOUND


@pytest.fixture
def small_ring(oracle):
    return oracle.make_ring(1024, oracle.primes_below(50, 1024, 2))


def arguments(ring, oracle, count, halves, seed, extreme=False):
    elements, pair = oracle.random(ring, (count, halves), seed), oracle.random(ring, (halves,), seed + 1)
    small = np.random.default_rng(seed).integers(-CBD_BOUND, CBD_BOUND, (count, 1 + halves, ring.degree), endpoint=True)
    if extreme:
        elements[...] = oracle.primes(ring) - np.uint64(1)
        pair[...] = elements[0]
        small = np.where(small < 0, -CBD_BOUND, CBD_BOUND)
    return elements, small.astype(np.int8), pair


def check_refresh(engine, ring, oracle, count, halves, seed, extreme=False):
    elements, small, pair = arguments(ring, oracle, count, halves, seed, extreme)
    kept = [x.copy() for x in (elements, small, pair)]
    found = engine.ring_refresh(ring, elements, small, pair)
    v, errors = oracle.lift(ring, small[:, :1]), oracle.lift(ring, small[:, 1:])
    zeros = engine.ring_mul(ring, engine.ring_ntt(ring, v), pair)
    expected = engine.ring_add(ring, engine.ring_intt(ring, engine.ring_add(ring, elements, zeros)), errors)
    assert found.dtype == np.uint64
    assert np.array_equal(found, expected)
    assert all(np.array_equal(x, y) for x, y in zip((elements, small, pair), kept, strict=True))


def test_refreshing_in_every_ring(engine, ring, oracle):
    check_refresh(engine, ring, oracle, 1, 2, seed=1)


@pytest.mark.quick_values
@pytest.mark.parametrize(("count", "halves"), [(1, 1), (2, 1), (1, 3), (5, 2)])
def test_counts_and_halves(engine, oracle, small_ring, count, halves):
    check_refresh(engine, small_ring, oracle, count, halves, seed=2, extreme=count == 2)


def test_refreshing_of_arrays_that_lie_otherwise_in_memory(engine, oracle, small_ring):
    plain = arguments(small_ring, oracle, 3, 2, 4)
    turned = (np.moveaxis(np.ascontiguousarray(np.moveaxis(x, 0, -1)), -1, 0) for x in plain)
    assert np.array_equal(engine.ring_refresh(small_ring, *turned), engine.ring_refresh(small_ring, *plain))


def test_nothing_is_nothing(engine, small_ring):
    elements, small = np.zeros((0, 2, 2, 1024), np.uint64), np.zeros((0, 3, 1024), np.int8)
    assert engine.ring_refresh(small_ring, elements, small, np.zeros((2, 2, 1024), np.uint64)).shape == elements.shape
    found = engine.ring_ntt_integers(small_ring, np.zeros((3, 0, 5), np.int64))
    assert (found.shape, found.dtype) == ((3, 0, 2, 1024), np.uint64)


def check_integers(engine, ring, oracle, values):
    found = engine.ring_ntt_integers(ring, values)
    padded = np.zeros((*values.shape[:-1], ring.degree), object)
    padded[..., : values.shape[-1]] = values
    assert found.dtype == np.uint64
    assert np.array_equal(found, engine.ring_ntt(ring, oracle.lift(ring, padded)))


def some_integers(count, seed):
    """Ends of int64 among others of all sizes."""
    rng = np.random.default_rng(seed)
    values = rng.integers(-(2**63), 2**63, count) >> rng.integers(0, 64, count)
    ends = [-(2**63), 2**63 - 1, 0, -1, 1, 2**62, -(2**62), 2**50, -(2**50), 2**32, -(2**32)]
    values[: len(ends)] = ends[:count]
    return values


def test_integers_in_every_ring(engine, ring, oracle):
    check_integers(engine, ring, oracle, some_integers(ring.degree, 7).reshape(1, -1))


@pytest.mark.parametrize("length", [1, 2, 8, 63, 64, 65, 128, 129, 300, 512, 513, 1023])
def test_the_first_coefficients_alone(engine, oracle, small_ring, length):
    check_integers(engine, small_ring, oracle, some_integers(2 * length, length).reshape(2, length))


@pytest.mark.parametrize("degree", [2048, 4096, 8192])
def test_the_first_coefficients_in_larger_rings(engine, oracle, degree):
    ring = oracle.make_ring(degree, oracle.primes_below(50, degree, 1))
    for length in (3, 500) if engine.name == "reference" else (3, 64, 100, 256, 500, 1024, 2000, degree // 2):
        check_integers(engine, ring, oracle, some_integers(length, length))


def test_multiples_of_primes(engine, oracle, small_ring):
    """Around the multiples of each prime that are nearest to the ends of int64."""
    p = np.array(small_ring.primes, object)
    near = [int(k * q) + d for q in p for k in ((2**63 - 1) // q, -(2**63 // q), 1, -1, 0) for d in (-1, 0, 1)]
    values = np.array([x for x in near if -(2**63) <= x < 2**63], np.int64)
    check_integers(engine, small_ring, oracle, values)
    check_integers(engine, oracle.make_ring(1024, (12289,)), oracle, values)


def test_integers_that_lie_otherwise_in_memory(engine, oracle, small_ring):
    values = some_integers(600, 9).reshape(2, 300)
    right = engine.ring_ntt_integers(small_ring, values)
    for other in (np.asfortranarray(values), values[::-1].copy()[::-1], np.repeat(values, 2, -1)[:, ::2]):
        assert np.array_equal(engine.ring_ntt_integers(small_ring, other), right)
