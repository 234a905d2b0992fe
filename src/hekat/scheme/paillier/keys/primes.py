"""Primes p = 2 a b ... c + 1 whose factors a, b, ..., c are large primes, from the operating system's randomness.

What keys need of p is that no small number but 2 divides p - 1. A safe prime 2a + 1 has that too, and takes many times
as long to find: here c has a fraction of the bits of p, so that most candidates fall to cheap tests.

c and p are sieved jointly: a window holds the candidates c = start + 2i, start odd and random. A prime r rules out
c = 0 and c = -1/(2ab...) mod r, where p is divisible by r. Survivors are tried in random order, so that a prime after a
long gap is favoured only within its window. All factors of p - 1 are known, so that a power for each of them proves p.
Source: joint sieve as in Wiener, "Safe Prime Generation with a Combined Sieve" (2003); proof by Pocklington's theorem,
as in Crandall and Pomerance, "Prime Numbers" (2005), theorem 4.1.3.
"""

from __future__ import annotations

import itertools
import math
import os
import secrets
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from functools import cache
from threading import Lock

import gmpy2
import numpy as np
import numpy.typing as npt

from hekat.engine.limbs import LimbArray

Progress = Callable[[int, int], None]
WordArray = npt.NDArray[np.uint64]

# Miller-Rabin rounds with random bases for candidates that pass a first test: error below 4^-40.
PRIME_TEST_ROUNDS = 40
# Sieving further costs more than the tests it saves (1536-bit primes; smaller ones sieve less).
MAX_SIEVE_LIMIT = 1 << 15
MAX_WINDOW_COUNT = 1 << 18
# (p - 1) / 2 has as many prime factors as can be that wide: too wide for Pollard's p - 1 method, and for a random
# element of the units mod p to miss a part of them (odds below 2^-250). In small primes it has two.
LEAST_LARGE_FACTOR_BITS = 256
# No factor of (p - 1) / 2 below that.
LEAST_FACTOR_BITS = 16
# Primes below 2^_TRIAL_BITS are tried before a power: that spares six of seven powers.
_TRIAL_BITS = 11
CANDIDATES_PER_REPORT = 64
REPORT_S = 0.2
# Smaller primes are found sooner than a thread starts.
LEAST_PARALLEL_BITS = 256
# Primes up to here are marked by slices, larger ones all together.
SLICED_LIMIT = 1 << 12


def is_key_prime(p: int) -> bool:
    """True where p is prime and (p - 1) / 2 is prime or without small factors, to an error below 4^-40.

    Small is below 2^LEAST_FACTOR_BITS, for p below 36 bits a quarter of its root.
    """
    if p <= 4 or p % 2 == 0 or not gmpy2.is_prime(p, PRIME_TEST_ROUNDS):
        return False
    half = p >> 1
    limit_bits = min(LEAST_FACTOR_BITS, half.bit_length() // 2 - 1)
    has_no_small_factor = limit_bits > 1 and gmpy2.gcd(half, _product_of_primes(limit_bits)) == 1
    return bool(has_no_small_factor or gmpy2.is_prime(half, PRIME_TEST_ROUNDS))


def find_key_prime(bits: int, on_candidate: Callable[[], object] | None = None) -> int:
    """A random prime p of exactly `bits` bits (32 at least) whose top two bits are set; (p - 1) / 2 is a product of
    primes of about equal size, `factor_count(bits)` of them.

    `on_candidate` is called before each candidate that is tested.
    """
    with gmpy2.context(allow_release_gil=True):
        while True:
            known = [_random_prime((bits - 1) // factor_count(bits)) for _ in range(factor_count(bits) - 1)]
            half = math.prod(known)
            least, most = (3 << (bits - 2)) // (2 * half) + 1, ((1 << bits) - 2) // (2 * half)
            start = least + secrets.randbelow(most - least + 1) | 1
            count = min(_window_count(bits), max((most - start) // 2 + 1, 0))
            for i in _in_random_order(_survivors(start, 2 * half, count, _sieve_limit(bits))):
                if on_candidate is not None:
                    on_candidate()
                last = gmpy2.mpz(start + 2 * int(i))
                p = 2 * half * last + 1
                if not (_passes_fermat(last) and _passes_fermat(p)) or len({*known, last}) <= len(known):
                    continue
                if gmpy2.is_prime(last, PRIME_TEST_ROUNDS) and _is_proven(p, [*known, last]):
                    return int(p)


def factor_count(bits: int) -> int:
    """How many primes (p - 1) / 2 is the product of, for p of `bits` bits."""
    return max(2, (bits - 1) // LEAST_LARGE_FACTOR_BITS)


def find_prime_pair(bits: int, progress: Progress | None = None) -> tuple[int, int]:
    """Two random primes p, q of bits/2 bits each as `find_key_prime` finds them, far apart, gcd(p - 1, q - 1) = 2.

    Their product has exactly `bits` bits. `progress` is called with the candidates tried and the primes found so far,
    some times a second.
    """
    half_bits = bits // 2
    search = _PairSearch(half_bits, progress)
    found = search.find_two()
    # Close primes fall to Fermat's method; random ones are this close with odds of 2^-100.
    while abs(found[1] - found[0]) >> max(half_bits - 100, half_bits // 2) == 0 or (
        math.gcd(found[1] - 1, found[0] - 1) != 2
    ):
        found = found[0], search.find_one()
    return found


class _PairSearch:
    """Looks for two primes at once, by a thread each: most of the time goes to powers, which hold up no other thread.

    The thread that looks for the pair calls `progress`, and what it raises ends the other thread.
    """

    def __init__(self, bits: int, progress: Progress | None) -> None:
        self._bits = bits
        self._progress = progress
        self._tried, self._found = 0, 0
        self._counting = Lock()
        self._is_over = False

    def find_one(self) -> int:
        """One prime more, by this thread."""
        prime = find_key_prime(self._bits, self._count_and_tell)
        self._note_found()
        return prime

    def find_two(self) -> tuple[int, int]:
        """Two primes."""
        if self._bits < LEAST_PARALLEL_BITS:
            return self.find_one(), self.find_one()
        with ThreadPoolExecutor(1) as pool:
            try:
                other = pool.submit(find_key_prime, self._bits, self._count)
                prime = self.find_one()
                while not wait([other], REPORT_S).done:
                    self._tell()
                second = other.result()
            finally:
                self._is_over = True
        self._note_found()
        return prime, second

    def _count(self) -> int:
        if self._is_over:
            raise _SearchOverError
        with self._counting:
            self._tried += 1
            return self._tried

    def _count_and_tell(self) -> None:
        if self._count() % CANDIDATES_PER_REPORT == 0:
            self._tell()

    def _note_found(self) -> None:
        self._found += 1
        self._tell()

    def _tell(self) -> None:
        if self._progress is not None:
            self._progress(self._tried, self._found)


class _SearchOverError(Exception):
    """Ends a thread whose prime nobody waits for."""


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
    """The odd ones: candidates are odd."""
    return small_primes(limit)[1:]


@cache
def _product_of_primes(bits: int) -> int:
    return math.prod(small_primes(1 << bits).tolist())


def _passes_fermat(candidate: gmpy2.mpz) -> bool:
    """Whether 2^(candidate - 1) = 1, as for all primes and next to no other number.

    A power, unlike gmpy2's tests of primes, lets other threads compute where the context says so.
    """
    return bool(gmpy2.powmod(2, candidate - 1, candidate) == 1)


def _is_proven(p: gmpy2.mpz, factors: Sequence[int]) -> bool:
    """Whether Fermat's test to base 2, which p passes, proves p prime by the primes `factors` of (p - 1) / 2, all of
    them.

    Where d is a prime divisor of p and r a factor, 2^((p - 1) / r) is not 1 mod d, and so r divides the order of 2 mod
    d, and d - 1. Thus d is above (p - 1) / 2, the product of all factors, and p has no other divisor.
    """
    return all(gmpy2.gcd(gmpy2.powmod(2, (p - 1) // factor, p) - 1, p) == 1 for factor in factors)


def _random_prime(bits: int) -> int:
    """A random prime of exactly `bits` bits whose top two bits are set."""
    small = _product_of_primes(min(_TRIAL_BITS, bits // 2 - 1))
    while True:
        value = secrets.randbits(bits - 2) | 3 << (bits - 2) | 1
        if (
            gmpy2.gcd(value, small) == 1
            and _passes_fermat(gmpy2.mpz(value))
            and gmpy2.is_prime(value, PRIME_TEST_ROUNDS)
        ):
            return value


def _sieve_limit(bits: int) -> int:
    """Below every factor of (p - 1) / 2, so that the sieve never strikes a prime out for being itself."""
    return int(min(MAX_SIEVE_LIMIT, 1 << min(22, bits // 2 - 4), max(64, bits * bits // 4)))


def _window_count(bits: int) -> int:
    return min(MAX_WINDOW_COUNT, max(256, bits * bits // 4))


def _survivors(start: int, factor: int, count: int, limit: int) -> npt.NDArray[np.int64]:
    """The i below count for which neither c = start + 2i nor factor * c + 1 has an odd factor below `limit`.

    `factor` has no factor below `limit` but 2.
    """
    primes = _sieve_primes(limit)
    remainders = _remainders(start, primes)
    inverses = map(pow, _remainders(factor, primes).tolist(), itertools.repeat(-1), primes.tolist())
    struck = np.zeros(count, np.bool_)
    for root in (np.zeros_like(primes), primes - np.fromiter(inverses, np.uint64, primes.size)):
        # (r + 1) / 2 is 1/2 mod r.
        first = (root + primes - remainders) % primes * ((primes + np.uint64(1)) // np.uint64(2)) % primes
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
