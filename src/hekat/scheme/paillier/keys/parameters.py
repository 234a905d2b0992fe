"""What sizes and variants of Paillier are allowed, checked once when a key is made.

Symbols in this folder, as in Paillier 1999 and Damgard-Jurik-Nielsen 2010:
n = p q the public modulus, p and q primes whose (p - 1) / 2 and (q - 1) / 2 have large prime factors alone, m a
plaintext, c a ciphertext mod n^2, r^n the randomiser of a ciphertext, h_s = h^n mod n^2 the base of variant `djn`,
gamma a primitive root mod p, g_p = gamma^p mod p^2 the base of variant `crt`.
"""

from __future__ import annotations

from typing import Final

from hekat.engine.interface import MAX_MODULUS_BITS
from hekat.scheme.key_size import DEFAULT_KEY_BITS, MIN_KEY_BITS, KeySizeWarning, check_new_key_size

__all__ = [
    "CRT",
    "DEFAULT_KEY_BITS",
    "DJN",
    "MAX_KEY_BITS",
    "MIN_KEY_BITS",
    "MIN_TEST_KEY_BITS",
    "STANDARD",
    "VARIANTS",
    "KeySizeWarning",
    "check_new_key_bits",
    "plaintext_bits_of",
]

# Below this size nothing can check even the structure of a key: trial division reaches the primes themselves.
MIN_TEST_KEY_BITS: Final = 64
# Ciphertexts live mod n^2.
MAX_KEY_BITS: Final = MAX_MODULUS_BITS // 2

STANDARD: Final = "standard"
DJN: Final = "djn"
CRT: Final = "crt"
VARIANTS: Final = (STANDARD, DJN, CRT)


def check_new_key_bits(bits: int, unsafe_for_benchmark: bool) -> None:
    """Raise InputError or KeyRefusedError unless a key of `bits` bits may be made; warn below the default size."""
    check_new_key_size("Paillier", bits, MIN_TEST_KEY_BITS, MAX_KEY_BITS, unsafe_for_benchmark)


def plaintext_bits_of(key_bits: int) -> int:
    """`PlaintextSpace.bits` of every key of `key_bits`: n is at least 9/16 of 2^key_bits, plaintexts reach n / 2."""
    return key_bits - 2
