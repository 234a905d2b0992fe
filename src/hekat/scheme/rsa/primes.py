"""Random primes for RSA: uniform among those allowed, from the operating system's randomness."""

from __future__ import annotations

import secrets
from collections.abc import Callable
from functools import cache
from typing import Any, Final

import gmpy2

from hekat.scheme.rsa.parameters import PRIME_TEST_ROUNDS

Progress = Callable[[int, int], None]

CANDIDATES_PER_REPORT: Final = 64
# One greatest common divisor with their product strikes out most candidates.
SIEVE_LIMIT: Final = 1 << 11


def find_prime_pair(bits: int, e: int, progress: Progress | None = None) -> tuple[int, int]:
    """Two random primes of bits/2 bits, top two bits set, far apart, e no factor of p-1 or q-1; n has `bits` bits.

    `progress` is called with the candidates tried and the primes found so far, some times a second.
    Source: FIPS 186-5, appendix A.1.3, without its hint of increments: every candidate is drawn anew.
    """
    tried = 0
    found: list[int] = []
    while len(found) < 2:
        tried += 1
        if progress is not None and tried % CANDIDATES_PER_REPORT == 0:
            progress(tried, len(found))
        candidate = gmpy2.mpz(secrets.randbits(bits // 2 - 2) | 3 << (bits // 2 - 2) | 1)
        if not is_allowed_prime(candidate, e) or (found and is_close(int(candidate), found[0])):
            continue
        found.append(int(candidate))
        if progress is not None:
            progress(tried, len(found))
    return found[0], found[1]


def is_allowed_prime(p: Any, e: int) -> bool:
    """True where p is prime (to an error below 4^-40) and the prime e does not divide p - 1."""
    if gmpy2.gcd(p, _small_prime_product()) != 1:
        return False
    return bool((p - 1) % e != 0 and gmpy2.is_strong_prp(p, 2) and gmpy2.is_prime(p, PRIME_TEST_ROUNDS))


def is_close(p: int, q: int) -> bool:
    """True for primes whose product falls to Fermat's method; random ones are this close with odds of 2^-100."""
    half_bits = max(p.bit_length(), q.bit_length())
    return abs(p - q) >> max(half_bits - 100, half_bits // 2) == 0


@cache
def _small_prime_product() -> Any:
    return gmpy2.primorial(SIEVE_LIMIT)
