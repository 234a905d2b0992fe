"""Conformance: transformed elements are their values at psi^(2 brv(j) + 1), and products are those of the ring."""

from __future__ import annotations

from functools import cache

import gmpy2
import numpy as np
import pytest


def reversed_bits(j, degree):
    bits = degree.bit_length() - 1
    return sum((j >> i & 1) << bits - 1 - i for i in range(bits))


def direct_value(row, root, j, p):
    """The value of the polynomial with coefficients `row` at root^(2 brv(j) + 1)."""
    x, value = pow(root, 2 * reversed_bits(j, len(row)) + 1, p), 0
    for coefficient in reversed(row):
        value = (value * x + coefficient) % p
    return value


def negacyclic_product(x, y, p):
    """The product of two rows in Z_p[X] / (X^N + 1), by one product of large integers."""
    degree = len(x)
    limb_bytes = (2 * p.bit_length() + degree.bit_length() + 7) // 8
    numbers = [int.from_bytes(b"".join(c.to_bytes(limb_bytes, "little") for c in row), "little") for row in (x, y)]
    data = int(gmpy2.mpz(numbers[0]) * numbers[1]).to_bytes(2 * degree * limb_bytes, "little")
    full = [int.from_bytes(data[i : i + limb_bytes], "little") for i in range(0, len(data), limb_bytes)]
    return [(low - high) % p for low, high in zip(full[:degree], full[degree:], strict=True)]


def test_the_root_is_the_smallest_primitive_one(ring):
    for p, root in zip(ring.primes, ring.roots, strict=True):
        assert pow(root, ring.degree, p) == p - 1
        assert root == min(pow(root, power, p) for power in range(1, 2 * ring.degree, 2))


def test_random_elements_against_direct_evaluation(engine, ring, oracle):
    a = oracle.random(ring, (2,), seed=1)
    found = engine.ring_ntt(ring, a)
    assert (found.dtype, found.shape) == (np.uint64, a.shape)
    assert (found < oracle.primes(ring)).all()
    slots = [0, 1, 2, 3, ring.degree // 2 - 1, ring.degree // 2, ring.degree - 2, ring.degree - 1]
    slots += np.random.default_rng(2).integers(0, ring.degree, 8).tolist()
    for number, (p, root) in enumerate(zip(ring.primes, ring.roots, strict=True)):
        for element, transformed in zip(a[:, number].tolist(), found[:, number].tolist(), strict=True):
            assert [transformed[j] for j in slots] == [direct_value(element, root, j, p) for j in slots]


def test_every_slot_of_a_single_coefficient(engine, ring, oracle):
    """c X^i is c psi^(i (2 brv(j) + 1)) in slot j."""
    places = [1, ring.degree - 1]
    a = np.zeros((len(places), len(ring.primes), ring.degree), np.uint64)
    highest = oracle.primes(ring)[:, 0] - np.uint64(1)
    for row, place in enumerate(places):
        a[row, :, place] = highest
    found = engine.ring_ntt(ring, a)
    exponents = [2 * reversed_bits(j, ring.degree) + 1 for j in range(ring.degree)]
    for number, (p, root) in enumerate(zip(ring.primes, ring.roots, strict=True)):
        for row, place in enumerate(places):
            step = pow(root, place, p)
            expected = [(p - 1) * pow(step, e, p) % p for e in exponents]
            assert found[row, number].tolist() == expected


def test_structured_elements_against_direct_evaluation(engine, ring, oracle):
    for name, a in oracle.structured(ring).items():
        found = engine.ring_ntt(ring, a)
        for number, (p, root) in enumerate(zip(ring.primes, ring.roots, strict=True)):
            for j in (0, 1, ring.degree // 2, ring.degree - 1):
                assert found[number, j] == direct_value(a[number].tolist(), root, j, p), (name, j)
        assert np.array_equal(engine.ring_intt(ring, found), a), name


def test_transforms_undo_each_other(engine, ring, oracle):
    count = 1 if engine.name == "reference" else 19
    a = np.concatenate([oracle.random(ring, (count,), seed=3), np.stack(list(oracle.structured(ring).values()))])
    a = a[: 3 if engine.name == "reference" else None]
    before = a.copy()
    assert np.array_equal(engine.ring_intt(ring, engine.ring_ntt(ring, a)), a)
    assert np.array_equal(engine.ring_ntt(ring, engine.ring_intt(ring, a)), a)
    assert np.array_equal(a, before)


@cache
def product_of_elements(oracle, ring, kind):
    """An element of that kind, a random one, and their product."""
    a = oracle.random(ring, (), seed=4) if kind == "random" else oracle.structured(ring)[kind]
    b = oracle.random(ring, (), seed=5)
    rows = zip(a.tolist(), b.tolist(), ring.primes, strict=True)
    return a, b, [negacyclic_product(x, y, p) for x, y, p in rows]


@pytest.mark.quick_values
def test_slot_products_are_ring_products(engine, ring, oracle):
    kinds = ["random", "all p-1", "last p-1", "alternating"]
    transformed = engine.ring_ntt(ring, product_of_elements(oracle, ring, "random")[1])
    for kind in kinds:
        a, _, expected = product_of_elements(oracle, ring, kind)
        slots = engine.ring_mul(ring, engine.ring_ntt(ring, a), transformed)
        assert engine.ring_intt(ring, slots).tolist() == expected, kind


def test_batches_are_their_elements(engine, oracle):
    """Batches around the lanes of a vector, with more than one leading axis."""
    ring = oracle.published_set("A16-16").form.ring
    for shape in (
        [(0,), (1,), (7,), (8,), (9,), (2, 5), (3, 0, 2), (1, 1, 1)] if engine.name != "reference" else [(2, 1)]
    ):
        a = oracle.random(ring, shape, seed=6)
        found = engine.ring_ntt(ring, a)
        assert found.shape == a.shape
        flat = a.reshape(-1, *a.shape[-2:])
        singles = [engine.ring_ntt(ring, element) for element in flat]
        assert np.array_equal(found.reshape(flat.shape), np.array(singles, np.uint64).reshape(flat.shape))
