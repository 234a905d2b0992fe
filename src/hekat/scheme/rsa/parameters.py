"""The allowed sizes and exponents of RSA, checked once when a key is made or comes from elsewhere.

Symbols in this folder, as in RFC 8017: n = p q the public modulus, e the public exponent, d its inverse mod
lcm(p-1, q-1), dP = d mod p-1 and dQ = d mod q-1 the exponents of the halves, m a message, s a signature, r the
randomness of a blinding.
"""

from __future__ import annotations

from typing import Final

import gmpy2

from hekat.errors import InputError, KeyRefusedError
from hekat.scheme.key_size import check_new_key_size

# Below this a hash of 128 bits more than n is too wide for one reduction.
MIN_TEST_KEY_BITS: Final = 128
MAX_KEY_BITS: Final = 8192

DEFAULT_EXPONENT: Final = 65537
# A larger exponent only costs time; up to here d cannot come out short either, because e d > lcm(p-1, q-1).
MAX_EXPONENT: Final = (1 << 32) - 1
PRIME_TEST_ROUNDS: Final = 40


def check_new_key_bits(bits: int, unsafe_for_benchmark: bool) -> None:
    """Raise InputError or KeyRefusedError unless a key of `bits` bits may be made; warn below the default size."""
    check_new_key_size("RSA", bits, MIN_TEST_KEY_BITS, MAX_KEY_BITS, unsafe_for_benchmark)


def check_exponent(e: int) -> None:
    """Raise InputError or KeyRefusedError unless e is an odd prime from 65537 to 2^32 - 1.

    e has to be prime so that one factor decides whether x -> x^e is a permutation, and a few e-th roots show it.
    """
    if isinstance(e, bool) or not isinstance(e, int):
        raise InputError("public exponent refused", expected="e as an int", got=f"a {type(e).__name__}")
    if not DEFAULT_EXPONENT <= e <= MAX_EXPONENT or not gmpy2.is_prime(e, PRIME_TEST_ROUNDS):
        raise KeyRefusedError(
            "public exponent refused",
            expected=f"a prime from {DEFAULT_EXPONENT} to 2^32 - 1",
            got="another number",
            cure=f"use e = {DEFAULT_EXPONENT}, as everybody does",
        )
