"""Arithmetic of shares mod an odd t: every operation against Python's integers, at the ends of each prime too."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hekat.engine.limbs import ints_from_limbs, limbs_from_ints
from hekat.errors import InputError
from hekat.protocol.shares.modular_shares import ModularRing
from hekat.scheme.bfv.slot_products import SLOT_PRIMES

RINGS = [ModularRing(primes) for primes in (SLOT_PRIMES, SLOT_PRIMES[::-1], (1009, 1013), (1013, 3), (65537,), (3,))]
INTEGER_ENDS = [0, 1, -1, 2**62, -(2**62), 2**63 - 1, -(2**63), SLOT_PRIMES[0], -SLOT_PRIMES[1]]


def residues_of(ring: ModularRing, values) -> np.ndarray:
    return np.array([[value % prime for value in values] for prime in ring.primes], np.uint64)


def rows(ring: ModularRing, values) -> list[list[int]]:
    return residues_of(ring, values).tolist()


def numbers(ring: ModularRing):
    t = ring.modulus
    ends = [0, 1, t - 1, t // 2, t // 2 + 1, ring.primes[0] - 1, ring.primes[-1] % t]
    return st.sampled_from(ends) | st.integers(0, t - 1)


@given(data=st.data(), ring=st.sampled_from(RINGS))
def test_elementwise_operations_are_those_of_the_ring(data, ring) -> None:
    pairs = data.draw(st.lists(st.tuples(numbers(ring), numbers(ring)), min_size=1, max_size=20))
    a, b = (residues_of(ring, column) for column in zip(*pairs, strict=True))
    assert ring.add(a, b).tolist() == rows(ring, [x + y for x, y in pairs])
    assert ring.subtract(a, b).tolist() == rows(ring, [x - y for x, y in pairs])
    assert ring.multiply(a, b).tolist() == rows(ring, [x * y for x, y in pairs])
    assert ring.negate(a).tolist() == rows(ring, [-x for x, _ in pairs])
    assert ring.sum_along(a, 0).tolist() == [row[0] for row in rows(ring, [sum(x for x, _ in pairs)])]
    assert ints_from_limbs(ring.to_limbs(a)) == [x for x, _ in pairs]
    assert ring.multiply(a, ring.constant(-5, 1)).tolist() == rows(ring, [-5 * x for x, _ in pairs])


@pytest.mark.parametrize("ring", RINGS[:2] + RINGS[4:], ids=lambda ring: str(ring.modulus))
def test_products_are_exact_near_every_multiple_of_a_prime(ring) -> None:
    """Where the quotient in floating point is likeliest to be one off: products just above and below multiples."""
    rng = np.random.default_rng(81)
    for prime, one in zip(ring.primes, (ModularRing((prime,)) for prime in ring.primes), strict=True):
        a = np.concatenate(
            [rng.integers(1, prime, 2000), np.arange(1, min(prime, 300)), prime - np.arange(1, min(prime, 300))]
        )
        inverse = [pow(int(x), -1, prime) for x in a]
        for offset in (-2, -1, 0, 1, 2):
            b = [x * offset % prime for x in inverse]
            found = one.multiply(a.astype(np.uint64)[np.newaxis], np.array([b], np.uint64))
            assert found[0].tolist() == [offset % prime] * len(b)


@given(st.lists(st.sampled_from(INTEGER_ENDS) | st.integers(-(2**63), 2**63 - 1), min_size=1, max_size=20))
def test_integers_become_residues(values) -> None:
    for ring in RINGS:
        assert ring.from_integers(np.array(values, np.int64)).tolist() == rows(ring, values)
    wide = [abs(value) * 2**64 + value % 2**64 for value in values]
    for ring in RINGS:
        assert ring.from_limbs(limbs_from_ints(wide, 2)).tolist() == rows(ring, wide)


def test_shapes_broadcast_and_axes_are_counted_without_the_primes() -> None:
    ring, rng = RINGS[0], np.random.default_rng(82)
    a, b = rng.integers(-(2**60), 2**60, (3, 5)), rng.integers(-(2**60), 2**60, (5,))
    product = ring.multiply(ring.from_integers(a), ring.from_integers(b))
    expected = a.astype(object) * b.astype(object)
    assert product.shape == (2, 3, 5)
    for axis in (0, 1):
        sums = ring.sum_along(product, axis)
        assert sums.tolist() == rows(ring, expected.sum(axis=axis))
    whole = ring.to_limbs(product)
    assert whole.shape == (3, 5, 2)
    assert ints_from_limbs(whole) == [value % ring.modulus for value in expected.ravel()]
    largest = np.full((2, 1, (1 << 14) - 1), 1, np.uint64) * np.array(ring.primes, np.uint64)[
        :, None, None
    ] - np.uint64(1)
    assert ring.sum_along(largest, 1).tolist() == [[-((1 << 14) - 1) % prime] for prime in ring.primes]


@pytest.mark.parametrize("primes", [(), (2,), (3, 3), (9,), (3, 5, 7), ((1 << 50) + 4,), (1125899906842679,)])
def test_other_primes_are_refused(primes) -> None:
    with pytest.raises(InputError, match="primes of a ring of shares"):
        ModularRing(primes)
