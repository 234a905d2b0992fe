"""The checks that somebody else's n = p q allows without its factors."""

from __future__ import annotations

from functools import cache
from typing import Final

import gmpy2

from hekat.errors import InputError, KeyRefusedError
from hekat.scheme.key_size import MIN_KEY_BITS

SMALL_FACTOR_LIMIT: Final = 1 << 16


def check_foreign_modulus(n: int, smallest_bits: int, largest_bits: int) -> None:
    """Raise KeyRefusedError for an n out of range, even, prime, a perfect power, or with a small factor.

    An n that passes need not be the product of two large primes: only its maker knows that. InputError where n is no
    int.
    """
    if isinstance(n, bool) or not isinstance(n, int):
        raise InputError("public key refused", expected="n as an int", got=f"a {type(n).__name__}")
    bits = n.bit_length() if n > 0 else 0
    if not smallest_bits <= bits <= largest_bits:
        raise KeyRefusedError(
            "public key refused: its size is out of range",
            expected=f"n of {MIN_KEY_BITS} to {largest_bits} bits",
            got=f"{bits} bits",
            cure="ask its owner for a key that Hekat made",
        )
    flaw = ""
    if n % 2 == 0:
        flaw = "n is even"
    elif gmpy2.gcd(n, _small_prime_product()) != 1:
        flaw = f"n has a factor below {SMALL_FACTOR_LIMIT}"
    elif gmpy2.is_power(n):
        flaw = "n is a perfect power"
    elif gmpy2.is_prime(n):
        flaw = "n is prime"
    if flaw:
        raise KeyRefusedError(
            f"public key refused: {flaw}",
            expected="the product of two large primes",
            got="a number that is not",
            cure="do not use it: it protects nothing; ask its owner for a sound key",
        )


@cache
def _small_prime_product() -> int:
    return int(gmpy2.mpz(gmpy2.primorial(SMALL_FACTOR_LIMIT)))
