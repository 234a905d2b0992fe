"""The rings for BFV: a modulus of several primes, split into parts that the engine's ring operations accept.

Symbols in this folder: N degree of the ring; q its modulus; s the secret, v, e, e1, e2 small random polynomials, all
with coefficients CBD(21); m a polynomial of integers, held by a ciphertext as Delta m; X a polynomial of plain
integers.
Source: Brakerski (CRYPTO 2012); Fan and Vercauteren (2012), section 3.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cached_property
from math import isqrt, prod
from typing import Final

from hekat.engine.ring.interface import CBD_BOUND
from hekat.engine.ring.parameters import Ring
from hekat.errors import InputError, KeyRefusedError

# The largest bitlength(q) by degree that keeps 128 bits by MATZOV's costs for secrets and errors CBD(21), and less
# than what would: security/estimate.py.
MAX_MODULUS_BITS: Final = {8192: 215}
# The wire gives a residue six bytes, and every prime is above the limit of small numbers.
PRIME_BITS: Final = 48
RESIDUE_BYTES: Final = 6


@dataclass(frozen=True)
class BfvParameters:
    """A set under its public name: Z_q[X] / (X^N + 1) as `parts` of one degree, q the product of all their primes.

    Raises InputError for parts of several degrees or with a prime in common, KeyRefusedError for a modulus too large
    for its degree.
    """

    name: str
    parts: tuple[Ring, ...]

    def __post_init__(self) -> None:
        if not self.parts or len({part.degree for part in self.parts}) != 1:
            raise InputError("parts of a ring refused", expected="one degree for all", got="several, or no part")
        if len(set(self.primes)) != len(self.primes):
            raise InputError("primes of a ring refused", expected="each once", got="one that repeats")
        if any(prime.bit_length() != PRIME_BITS for prime in self.primes):
            raise InputError("primes of a ring refused", expected=f"{PRIME_BITS} bits each", got="others")
        allowed = MAX_MODULUS_BITS.get(self.degree, 0)
        if self.modulus.bit_length() > allowed:
            raise KeyRefusedError(
                f"parameter set {self.name} protects too little",
                expected=f"a modulus of at most {allowed} bits at degree {self.degree}",
                got=f"{self.modulus.bit_length()} bits",
                cure="use hekat.scheme.bfv.PRODUCTS",
            )

    @property
    def degree(self) -> int:
        """N."""
        return self.parts[0].degree

    @cached_property
    def primes(self) -> tuple[int, ...]:
        return tuple(prime for part in self.parts for prime in part.primes)

    @cached_property
    def modulus(self) -> int:
        """q."""
        return prod(self.primes)

    @property
    def fresh_noise(self) -> int:
        """A bound that a coefficient of a fresh ciphertext's noise e v + e1 + e2 s exceeds with odds below 2^-180.

        CBD(21) is sub-Gaussian with variance proxy 21/2: for fixed e and s a coefficient is sub-Gaussian with proxy
        21/2 (|e|^2 + |s|^2 + 1), and exceeds 16 deviations with odds of 2 exp(-128). A key's |e|^2 or |s|^2, of mean
        21/2 N, is above 16 N with odds below 2^-170 (Bernstein's inequality, N = 8192).
        """
        return 16 * (isqrt(CBD_BOUND * (32 * self.degree + 1) // 2) + 1)

    @property
    def polynomial_bytes(self) -> int:
        """Bytes of one polynomial on the wire."""
        return RESIDUE_BYTES * len(self.primes) * self.degree

    @property
    def ciphertext_bytes(self) -> int:
        """Bytes of the numbers of one ciphertext on the wire."""
        return 2 * self.polynomial_bytes

    @property
    def identity(self) -> bytes:
        """32 bytes that stand for every value of the set."""
        return hashlib.sha256(repr((self.name, self.degree, self.primes)).encode()).digest()

    def __repr__(self) -> str:
        return f"BfvParameters({self.name}: degree {self.degree}, modulus of {self.modulus.bit_length()} bits)"


# The largest primes below 2^48 that are 1 mod 2 N.
PRODUCTS: Final = BfvParameters(
    "products-8192",
    (
        Ring(8192, (281474976694273, 281474976546817)),
        Ring(8192, (281474976317441, 281474975662081)),
    ),
)
SETS: Final[dict[str, BfvParameters]] = {PRODUCTS.name: PRODUCTS}
CIPHERTEXT_BYTES: Final = PRODUCTS.ciphertext_bytes
