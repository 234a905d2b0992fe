"""The joint sieve strikes exactly what has a small factor, and what it leaves yields safe primes."""

from __future__ import annotations

import gmpy2
import numpy as np
import pytest

from hekat.scheme.paillier.keys import primes
from hekat.scheme.paillier.keys.primes import (
    _remainders,
    _sieve_limit,
    _survivors,
    find_safe_prime,
    find_safe_prime_pair,
    is_safe_prime,
    small_primes,
)


def test_small_primes():
    assert small_primes(30).tolist() == [2, 3, 5, 7, 11, 13, 17, 19, 23, 29]
    assert small_primes(3).tolist() == [2]
    assert small_primes(10**5).size == 9592


# Limits on both sides of the change from slices to positions, and windows shorter than the largest prime.
@pytest.mark.parametrize("limit", [64, 4096, 4099, 20000])
@pytest.mark.parametrize("count", [1, 100, 3000])
def test_sieve_against_trial_division(limit, count):
    start = (3 << 61) // 6 * 6 + 5
    divisors = [int(r) for r in small_primes(limit)]
    candidates = [start + 6 * i for i in range(count)]
    wanted = [i for i, c in enumerate(candidates) if all(c % r and (2 * c + 1) % r for r in divisors)]
    assert _survivors(start, count, limit).tolist() == wanted


def test_remainders_of_wide_numbers():
    divisors = small_primes(1 << 16)
    for value in (0, 1, 2**32, 2**1535 + 12345, 2**1536 - 1):
        assert _remainders(max(value, 1), divisors).tolist() == [max(value, 1) % int(r) for r in divisors]


@pytest.mark.parametrize("bits", [32, 33, 63, 64, 65, 128, 192])
def test_safe_primes_have_their_size(bits):
    for _ in range(5):
        p = find_safe_prime(bits)
        assert p.bit_length() == bits
        assert p >> (bits - 2) == 3
        assert gmpy2.is_prime(p)
        assert gmpy2.is_prime(p // 2)


def test_the_sieve_never_reaches_the_primes_sought():
    for bits in range(32, 4097, 2):
        assert _sieve_limit(bits) < 1 << (bits - 3)


def test_small_safe_primes_are_all_reached():
    """Nothing about the search leaves some safe primes out: among 32-bit ones, all residues mod 5 and 7 come up."""
    found = {find_safe_prime(32) for _ in range(200)}
    assert len(found) > 190
    # Mod 5 a safe prime is 2, 3 or 4 (1 would make p' divisible by 5), mod 7 it is 2 to 6.
    assert {p % 5 for p in found} == {2, 3, 4}
    assert {p % 7 for p in found} == {2, 3, 4, 5, 6}


@pytest.mark.parametrize("p", [5, 7, 11, 23, 47, 59, 2**64 - 1042097])
def test_safe_primes_are_told(p):
    assert is_safe_prime(p)


@pytest.mark.parametrize("p", [-23, 0, 1, 2, 3, 4, 9, 13, 15, 22, 24, 2**61 - 1])
def test_other_numbers_are_told(p):
    assert not is_safe_prime(p)


def test_close_primes_are_drawn_again(monkeypatch):
    p = find_safe_prime(128)
    q = find_safe_prime(128)
    draws = iter([p, p, q])
    monkeypatch.setattr(primes, "find_safe_prime", lambda bits, on_candidate: next(draws))
    assert find_safe_prime_pair(256) == (p, q)


def test_order_is_a_permutation():
    values = np.arange(100)
    orders = [primes._in_random_order(values) for _ in range(2)]
    assert all(sorted(order.tolist()) == values.tolist() for order in orders)
    assert orders[0].tolist() != orders[1].tolist()
