"""Safe primes p = 2p'+1 from the operating system's randomness, found by sieving p' and p jointly.

A window holds the candidates p' = start + 6i, start = 5 mod 6 random: then neither p' nor p is divisible by 2 or 3.
A prime r rules out p' = 0 and p' = (r-1)/2 mod r, where p = 2p'+1 is divisible by r. Survivors are tried in random
order, so that a prime after a long gap is favoured only within its window.
Source: joint sieve as in Wiener, "Safe Prime Generation with a Combined Sieve" (2003).
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable
from functools import cache

import gmpy2
import numpy as np
import numpy.typing as npt

from hekat.engine.limbs import LimbArray

Progress = Callable[[int, int], None]
WordArray = npt.NDArray[np.uint64]

CANDIDATE_STEP = 6
# Miller-Rabin rounds with random bases for candidates that pass a first strong test: error below 4^-40.
PRIME_TEST_ROUNDS = 40
# Sieving further costs more than the tests it saves (1536-bit primes; smaller ones sieve less).
MAX_SIEVE_LIMIT = 1 << 22
MAX_WINDOW_COUNT = 1 << 18
CANDIDATES_PER_REPORT = 64
# Primes up to here are marked by slices, larger ones all together.
SLICED_LIMIT = 1 << 12


def is_safe_prime(p: int) -> bool:
    """True where p and (p-1)/2 are prime (to an error below 4^-40)."""
    return p > 4 and gmpy2.is_prime(p >> 1, PRIME_TEST_ROUNDS) and p % 2 == 1 and gmpy2.is_prime(p, PRIME_TEST_ROUNDS)


def find_safe_prime(bits: int, on_candidate: Callable[[], None] | None = None) -> int:
    """A random safe prime of exactly `bits` bits (32 at least) whose top two bits are set.

    `on_candidate` is called before each candidate that is tested.
    """
    while True:
        start = _random_start(bits - 1)
        # The window ends before p' reaches the next power of two.
        room = ((1 << (bits - 1)) - 1 - start) // CANDIDATE_STEP + 1
        count = min(_window_count(bits), max(room, 0))
        for i in _in_random_order(_survivors(start, count, _sieve_limit(bits))):
            if on_candidate is not None:
                on_candidate()
            half = gmpy2.mpz(start + CANDIDATE_STEP * int(i))
            if gmpy2.is_strong_prp(half, 2) and gmpy2.is_strong_prp(2 * half + 1, 2) and is_safe_prime(2 * half + 1):
                return int(2 * half + 1)


def find_safe_prime_pair(bits: int, progress: Progress | None = None) -> tuple[int, int]:
    """Two random safe primes of bits/2 bits each, far apart, whose product has exactly `bits` bits.

    `progress` is called with the candidates tried and the primes found so far, some times a second.
    """
    half_bits = bits // 2
    tried = 0
    found: list[int] = []

    def count_candidate() -> None:
        nonlocal tried
        tried += 1
        if progress is not None and tried % CANDIDATES_PER_REPORT == 0:
            progress(tried, len(found))

    while len(found) < 2:
        prime = find_safe_prime(half_bits, count_candidate)
        # Close primes fall to Fermat's method; random ones are this close with odds of 2^-100.
        if found and abs(prime - found[0]) >> max(half_bits - 100, half_bits // 2) == 0:
            continue
        found.append(prime)
        if progress is not None:
            progress(tried, len(found))
    return found[0], found[1]


def small_primes(limit: int) -> WordArray:
    """The primes below `limit`, ascending."""
    is_composite = np.zeros(limit, np.bool_)
    is_composite[:2] = True
    for i in range(2, int(limit**0.5) + 1):
        if not is_composite[i]:
            is_composite[i * i :: i] = True
    return np.flatnonzero(~is_composite).astype(np.uint64)


@cache
def _sieve_primes(limit: int) -> WordArray:
    return small_primes(limit)[2:]


def _sieve_limit(bits: int) -> int:
    """Below every p' of that size, so that the sieve never strikes a prime out for being itself."""
    return int(min(MAX_SIEVE_LIMIT, 1 << min(22, bits // 2 - 3), max(64, bits * bits)))


def _window_count(bits: int) -> int:
    return min(MAX_WINDOW_COUNT, max(256, bits * bits // 8))


def _random_start(bits: int) -> int:
    """A random p' of `bits` bits, top two bits set, 5 mod 6."""
    value = secrets.randbits(bits - 2) | 3 << (bits - 2)
    return value - value % CANDIDATE_STEP + 5


def _survivors(start: int, count: int, limit: int) -> npt.NDArray[np.int64]:
    """The i below count for which neither start + 6i nor 2(start + 6i) + 1 has a factor below `limit`."""
    primes = _sieve_primes(limit)
    remainders = _remainders(start, primes)
    # 6^-1 mod r, for r = 1 and r = 5 mod 6.
    inverse = np.where(primes % 6 == 1, (5 * primes + 1) // 6, (primes + 1) // 6)
    struck = np.zeros(count, np.bool_)
    for root in (np.zeros_like(primes), primes // 2):
        first = (root + primes - remainders) % primes * inverse % primes
        _strike(struck, primes, first)
    return np.flatnonzero(~struck)


def _strike(struck: npt.NDArray[np.bool_], primes: WordArray, first: WordArray) -> None:
    """Mark first, first + r, first + 2r, ... for every prime r."""
    sliced = int(np.searchsorted(primes, SLICED_LIMIT))
    for prime, position in zip(primes[:sliced].tolist(), first[:sliced].tolist(), strict=True):
        struck[position::prime] = True
    steps, positions = primes[sliced:], first[sliced:]
    while True:
        inside = positions < struck.size
        steps, positions = steps[inside], positions[inside]
        if not positions.size:
            return
        struck[positions] = True
        positions = positions + steps


def _remainders(value: int, primes: WordArray) -> WordArray:
    """value mod each prime (below 2^24), 32 bits of the value at a time."""
    remainders = np.zeros_like(primes)
    for word in np.frombuffer(value.to_bytes(-(-value.bit_length() // 32) * 4, "big"), ">u4").tolist():
        remainders = (remainders << np.uint64(32) | np.uint64(word)) % primes
    return remainders


def _in_random_order(values: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    keys: LimbArray = np.frombuffer(os.urandom(8 * values.size), np.uint64)
    return values[np.argsort(keys, kind="stable")]
