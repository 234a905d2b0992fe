"""The joint sieve strikes exactly what has a small factor, and what it leaves yields primes for keys."""

from __future__ import annotations

import math
import threading

import gmpy2
import numpy as np
import pytest

from hekat.scheme.paillier.keys import primes
from hekat.scheme.paillier.keys.primes import (
    _remainders,
    _sieve_limit,
    _survivors,
    find_key_prime,
    find_prime_pair,
    is_key_prime,
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
    start, factor = (3 << 61) + 1, 2 * (2**61 - 1)
    divisors = [int(r) for r in small_primes(limit)]
    candidates = [start + 2 * i for i in range(count)]
    wanted = [i for i, b in enumerate(candidates) if all(b % r and (factor * b + 1) % r for r in divisors)]
    assert _survivors(start, factor, count, limit).tolist() == wanted


def test_remainders_of_wide_numbers():
    divisors = small_primes(1 << 16)
    for value in (0, 1, 2**32, 2**1535 + 12345, 2**1536 - 1):
        assert _remainders(max(value, 1), divisors).tolist() == [max(value, 1) % int(r) for r in divisors]


@pytest.mark.parametrize("bits", [32, 33, 63, 64, 65, 128, 192])
def test_primes_have_their_size_and_form(bits):
    for _ in range(5):
        p = find_key_prime(bits)
        assert p.bit_length() == bits
        assert p >> (bits - 2) == 3
        assert p % 4 == 3
        assert gmpy2.is_prime(p)
        assert is_key_prime(p)


@pytest.mark.quick_cases("40", "32")
@pytest.mark.parametrize("bits", [32, 40, 48])
def test_twice_two_primes_is_what_a_prime_less_one_is(bits):
    for _ in range(20):
        half = find_key_prime(bits) // 2
        factors = [int(r) for r in small_primes(1 << (bits // 2)) if half % int(r) == 0]
        assert factors[0].bit_length() == (bits - 1) // 2
        assert gmpy2.is_prime(half // factors[0])


@pytest.mark.parametrize(("bits", "count"), [(32, 2), (512, 2), (768, 2), (1024, 3), (1536, 5), (2048, 7)])
def test_a_prime_less_one_has_large_factors_alone(bits, count, monkeypatch):
    """What is proven is (p - 1) / 2 as a product of different primes, none of them narrow."""
    proven = {}

    def note(p, factors):
        proven[int(p)] = [int(factor) for factor in factors]
        return is_proven(p, factors)

    is_proven = primes._is_proven
    monkeypatch.setattr(primes, "_is_proven", note)
    p = find_key_prime(bits)
    factors = proven[p]
    assert 2 * math.prod(factors) + 1 == p
    assert len(set(factors)) == len(factors) == primes.factor_count(bits) == count
    assert all(gmpy2.is_prime(factor) for factor in factors)
    assert min(factors) >= 1 << ((bits - 1) // count - 1)
    assert gmpy2.is_prime(p, 40)


def test_the_sieve_never_reaches_the_primes_sought():
    for bits in range(32, 4097, 2):
        known_bits = (bits - 1) // primes.factor_count(bits) * (primes.factor_count(bits) - 1)
        least = (3 << (bits - 2)) // (2 << known_bits)
        assert _sieve_limit(bits) < least


# Carmichael numbers, and another that passes Fermat's test to base 2; less one, all their prime factors are small.
@pytest.mark.parametrize("composite", [561, 1105, 2047, 15841, 2**67 - 1])
def test_a_composite_number_is_never_proven(composite):
    assert gmpy2.powmod(2, composite - 1, composite) == 1
    left, factors = composite - 1, []
    for divisor in map(int, small_primes(1 << 16)):
        if left % divisor == 0:
            factors.append(divisor)
            while left % divisor == 0:
                left //= divisor
    assert not primes._is_proven(gmpy2.mpz(composite), factors + [left] * (left > 1))


def test_primes_are_proven():
    a, b, found = 1_000_003, 5_000_011, 0
    while found < 5:
        b = int(gmpy2.next_prime(b))
        if gmpy2.is_prime(2 * a * b + 1):
            found += 1
            assert primes._is_proven(gmpy2.mpz(2 * a * b + 1), [a, b])


def test_small_primes_are_all_reached():
    """Nothing about the search leaves some primes out: among 32-bit ones, all residues mod 5 and 7 but 1 come up."""
    found = {find_key_prime(32) for _ in range(200)}
    assert len(found) > 190
    # p = 1 mod r would make r a factor of ab.
    assert {p % 5 for p in found} == {2, 3, 4}
    assert {p % 7 for p in found} == {2, 3, 4, 5, 6}


@pytest.mark.parametrize("p", [5, 7, 11, 23, 47, 59, 2**64 - 1042097])
def test_safe_primes_are_taken(p):
    assert is_key_prime(p)


@pytest.mark.parametrize("p", [-23, 0, 1, 2, 3, 4, 9, 13, 15, 22, 24, 2**61 - 1])
def test_other_numbers_are_told(p):
    assert not is_key_prime(p)


@pytest.mark.parametrize("small", [3, 5, 251, 65521])
def test_a_small_factor_is_found(small):
    cofactor = 2**127 - 1
    while not gmpy2.is_prime(2 * small * cofactor + 1):
        cofactor = int(gmpy2.next_prime(cofactor))
    assert not is_key_prime(2 * small * cofactor + 1)


def test_close_primes_are_drawn_again(monkeypatch):
    p = find_key_prime(128)
    q = find_key_prime(128)
    draws = iter([p, p, q])
    monkeypatch.setattr(primes, "find_key_prime", lambda bits, on_candidate: next(draws))
    assert find_prime_pair(256) == (p, q)


def test_primes_that_share_a_factor_are_drawn_again(monkeypatch):
    a, b = 1_000_003, 5_000_011
    shared = []
    while len(shared) < 2:
        b = int(gmpy2.next_prime(b))
        if gmpy2.is_prime(2 * a * b + 1):
            shared.append(2 * a * b + 1)
    other = find_key_prime(shared[0].bit_length())
    draws = iter([shared[0], shared[1], other])
    monkeypatch.setattr(primes, "find_key_prime", lambda bits, on_candidate: next(draws))
    monkeypatch.setattr("builtins.abs", lambda difference: 1 << 60)
    assert find_prime_pair(2 * other.bit_length()) == (shared[0], other)


def test_both_primes_are_sought_at_once_and_one_failure_ends_both(monkeypatch):
    """One thread's search ends only by the other's failure: it waits for it, and then meets no further candidate."""
    seeking, caller = threading.Barrier(2, timeout=60), threading.get_ident()
    ended = []

    def seek(bits, on_candidate):
        on_candidate()
        seeking.wait()
        if threading.get_ident() == caller:
            raise KeyboardInterrupt
        try:
            while True:
                on_candidate()
        finally:
            ended.append(threading.get_ident())

    monkeypatch.setattr(primes, "find_key_prime", seek)
    with pytest.raises(KeyboardInterrupt):
        find_prime_pair(2 * primes.LEAST_PARALLEL_BITS)
    assert len(ended) == 1
    assert ended[0] != caller


def test_a_failure_of_the_other_search_is_raised(monkeypatch):
    caller, other = threading.get_ident(), find_key_prime(primes.LEAST_PARALLEL_BITS)

    def seek(bits, on_candidate):
        if threading.get_ident() == caller:
            return other
        raise OSError("no randomness")

    monkeypatch.setattr(primes, "find_key_prime", seek)
    with pytest.raises(OSError, match="no randomness"):
        find_prime_pair(2 * primes.LEAST_PARALLEL_BITS)


def test_order_is_a_permutation():
    values = np.arange(100)
    orders = [primes._in_random_order(values) for _ in range(2)]
    assert all(sorted(order.tolist()) == values.tolist() for order in orders)
    assert orders[0].tolist() != orders[1].tolist()
