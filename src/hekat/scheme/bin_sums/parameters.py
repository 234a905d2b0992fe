"""The ring for sums by bins: degree and modulus, refused below 128 bits.

Symbols in this folder: N degree of the ring, q = p_1 p_2 its modulus; C components (gradient, hessian, ...); s_c the
secret of component c, v, e, e2 small random polynomials, all with coefficients CBD(21); a uniform polynomials; W the
window, r = N / W rows in a group, k its number; t_c the number of values that a sum of component c can have, Delta_c =
floor(q / t_c); 2^w the modulus of what is sent back. docs/spec/bin-sums.md has the scheme and its proofs.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Final

from hekat.engine.ring.parameters import Ring
from hekat.errors import InputError, KeyRefusedError

# The largest bitlength(q) by degree that keeps 128 bits by MATZOV's costs for secrets and errors CBD(21), and less
# than what would: security/estimate.py.
MAX_MODULUS_BITS: Final = {4096: 107}
# The wire gives a residue six bytes.
PRIME_BITS: Final = 48
RESIDUE_BYTES: Final = 6


@dataclass(frozen=True)
class BinSumParameters:
    """A set under its public name: Z_q[X] / (X^N + 1), q a product of two primes of 48 bits, the larger one first.

    Raises InputError for other primes, KeyRefusedError for a modulus too large for its degree.
    """

    name: str
    ring: Ring

    def __post_init__(self) -> None:
        primes = self.ring.primes
        if len(primes) != 2 or primes[0] < primes[1] or any(p.bit_length() != PRIME_BITS for p in primes):
            raise InputError(
                "primes of a ring refused", expected=f"two of {PRIME_BITS} bits, the larger one first", got="others"
            )
        allowed = MAX_MODULUS_BITS.get(self.degree, 0)
        if self.ring.modulus.bit_length() > allowed:
            raise KeyRefusedError(
                f"parameter set {self.name} protects too little",
                expected=f"a modulus of at most {allowed} bits at degree {self.degree}",
                got=f"{self.ring.modulus.bit_length()} bits",
                cure="use hekat.scheme.bin_sums.BINS",
            )

    @property
    def degree(self) -> int:
        """N."""
        return self.ring.degree

    @property
    def modulus(self) -> int:
        """q."""
        return self.ring.modulus

    @property
    def polynomial_bytes(self) -> int:
        """Bytes of one polynomial mod q on the wire."""
        return RESIDUE_BYTES * len(self.ring.primes) * self.degree

    @property
    def identity(self) -> bytes:
        """32 bytes that stand for every value of the set."""
        return hashlib.sha256(repr((self.name, self.degree, self.ring.primes)).encode()).digest()

    def __repr__(self) -> str:
        return f"BinSumParameters({self.name}: degree {self.degree}, modulus of {self.modulus.bit_length()} bits)"


# The largest primes below 2^48 that are 1 mod 2 N.
BINS: Final = BinSumParameters("bins-4096", Ring(4096, (281474976694273, 281474976636929)))
SETS: Final[dict[str, BinSumParameters]] = {BINS.name: BINS}
