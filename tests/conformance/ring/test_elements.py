"""Conformance: sums, differences and products of residues, whatever shapes broadcast and however they lie in memory."""

from __future__ import annotations

import operator

import numpy as np
import pytest

OPERATIONS = {"ring_add": operator.add, "ring_sub": operator.sub, "ring_mul": operator.mul}
SHAPES = [
    ((), ()),
    ((3,), ()),
    ((), (2,)),
    ((2, 1), (3,)),
    ((1,), (4,)),
    ((0,), (1,)),
    ((2, 0), (2, 1)),
    ((17,), (17,)),
]
SHAPES_OF_REFERENCE = [*SHAPES[:-1], ((2,), (2,))]


def expected(operation, ring, a, b):
    if operation != "ring_mul":  # within 64 bits
        primes = np.array(ring.primes, np.int64)[:, np.newaxis]
        return OPERATIONS[operation](a.astype(np.int64), b.astype(np.int64)) % primes
    primes = np.array(ring.primes, object)[:, np.newaxis]
    return OPERATIONS[operation](a.astype(object), b.astype(object)) % primes


@pytest.mark.quick_values
@pytest.mark.parametrize("operation", OPERATIONS)
def test_shapes_that_broadcast(engine, ring, oracle, operation):
    for seed, (left, right) in enumerate(SHAPES_OF_REFERENCE if engine.name == "reference" else SHAPES):
        a, b = oracle.random(ring, left, 2 * seed), oracle.random(ring, right, 2 * seed + 1)
        found = getattr(engine, operation)(ring, a, b)
        assert found.dtype == np.uint64
        assert found.shape == np.broadcast_shapes(a.shape, b.shape)
        assert np.array_equal(found, expected(operation, ring, a, b).astype(np.uint64))


@pytest.mark.parametrize("operation", OPERATIONS)
def test_ends_of_the_ranges(engine, ring, oracle, operation):
    """Every pair of residues from the ends of [0, p) and its middle."""
    for number, p in enumerate(ring.primes):
        ends = [0, 1, 2, p // 2 - 1, p // 2, p // 2 + 1, p - 2, p - 1]
        a = np.zeros((len(ring.primes), ring.degree), np.uint64)
        b = a.copy()
        a[number, :64], b[number, :64] = np.repeat(ends, 8), np.tile(ends, 8)
        found = getattr(engine, operation)(ring, a, b)
        assert np.array_equal(found, expected(operation, ring, a, b).astype(np.uint64))


@pytest.mark.parametrize("layout", ["reversed", "strided", "transposed", "read-only", "unaligned"])
def test_elements_that_lie_otherwise_in_memory(engine, oracle, layout):
    ring = oracle.make_ring(1024, oracle.primes_below(50, 1024, 2))
    plain = oracle.random(ring, (2,), seed=9)
    if layout == "reversed":
        a = np.ascontiguousarray(plain[:, :, ::-1])[:, :, ::-1]
    elif layout == "strided":
        larger = np.full((4, 4, 2 * ring.degree), 2**64 - 1, np.uint64)
        a = larger[::2, ::2, ::2]
        a[...] = plain
    elif layout == "transposed":
        a = np.ascontiguousarray(plain.transpose(2, 1, 0)).transpose(2, 1, 0)
    elif layout == "read-only":
        a = plain.copy()
        a.flags.writeable = False
    else:
        a = np.frombuffer(bytearray(b"\x00" + plain.tobytes()), np.uint64, offset=1).reshape(plain.shape)
        assert not a.flags.aligned
    for operation in OPERATIONS:
        found = getattr(engine, operation)(ring, a, plain)
        assert np.array_equal(found, expected(operation, ring, plain, plain).astype(np.uint64))
    transformed = engine.ring_ntt(ring, plain)
    assert np.array_equal(engine.ring_ntt(ring, a), transformed)
    assert np.array_equal(engine.ring_intt(ring, transformed), a)
    assert np.array_equal(a, plain)


def test_an_operand_may_be_both(engine, ring, oracle):
    a = oracle.random(ring, (2,), seed=11)
    before = a.copy()
    assert not engine.ring_sub(ring, a, a).any()
    assert np.array_equal(engine.ring_add(ring, a, a), expected("ring_add", ring, a, a).astype(np.uint64))
    assert np.array_equal(a, before)
