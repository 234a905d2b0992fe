"""What sizes and variants of Paillier are allowed, checked once when a key is made.

Symbols in this folder, as in Paillier 1999 and Damgard-Jurik-Nielsen 2010:
n = p q the public modulus, p = 2p'+1 and q = 2q'+1 safe primes, m a plaintext, c a ciphertext mod n^2,
r^n the randomiser of a ciphertext, h_s = h^n mod n^2 the base of variant `djn`, gamma a primitive root mod p,
g_p = gamma^p mod p^2 the base of variant `crt`.
"""

from __future__ import annotations

import warnings
from typing import Final

from hekat.engine.interface import MAX_MODULUS_BITS
from hekat.errors import InputError, KeyRefusedError

DEFAULT_KEY_BITS: Final = 3072
MIN_KEY_BITS: Final = 2048
# Below this not even the structure of a key can be checked: trial division reaches the primes themselves.
MIN_TEST_KEY_BITS: Final = 64
# Ciphertexts live mod n^2.
MAX_KEY_BITS: Final = MAX_MODULUS_BITS // 2

STANDARD: Final = "standard"
DJN: Final = "djn"
CRT: Final = "crt"
VARIANTS: Final = (STANDARD, DJN, CRT)


class KeySizeWarning(UserWarning):
    """A key smaller than the default; still within what is allowed, or made for benchmarks and tests only."""


def is_unsafe(bits: int) -> bool:
    """True for key sizes that protect nothing and are there for benchmarks and tests only."""
    return bits < MIN_KEY_BITS


def check_new_key_bits(bits: int, unsafe_for_benchmark: bool) -> None:
    """Raise InputError or KeyRefusedError unless a key of `bits` bits may be made; warn below the default size."""
    if isinstance(bits, bool) or not isinstance(bits, int):
        raise InputError("key size refused", expected="a number of bits", got=f"a {type(bits).__name__}")
    if bits < MIN_TEST_KEY_BITS or bits > MAX_KEY_BITS or bits % 2:
        raise KeyRefusedError(
            "key size refused",
            expected=f"an even number of bits from {MIN_KEY_BITS} to {MAX_KEY_BITS}",
            got=f"{bits} bits",
            cure=f"use {DEFAULT_KEY_BITS}",
        )
    if is_unsafe(bits) and not unsafe_for_benchmark:
        raise KeyRefusedError(
            "key is too small to protect anything",
            expected=f"at least {MIN_KEY_BITS} bits",
            got=f"{bits} bits",
            cure=f"use {DEFAULT_KEY_BITS} bits; unsafe_for_benchmark=True allows it where no real data is involved",
        )
    if bits < DEFAULT_KEY_BITS:
        strength = "no protection, for benchmarks and tests only" if is_unsafe(bits) else "about 112-bit security"
        warnings.warn(
            f"Paillier key of {bits} bits: {strength}; {DEFAULT_KEY_BITS} bits give 128-bit security",
            KeySizeWarning,
            stacklevel=3,
        )
