"""Arithmetic in Z_t for an odd t, the product of one or two primes: additive shares held as residues mod each prime.

An array of shares is uint64 of shape (primes, ...): for each prime the residues of all numbers, as products of slots
(`hekat.scheme.bfv.slot_products`) take and give them. Nothing here branches on a share or divides one.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import Final

import gmpy2
import numpy as np
import numpy.typing as npt

from hekat.engine.limbs import LIMB_BITS
from hekat.errors import InputError
from hekat.protocol.shares.share_array import ShareArray, add_shares, constant
from hekat.protocol.shares.share_array import multiply as multiply_limbs

ModularShares = npt.NDArray[np.uint64]
Words = npt.NDArray[np.uint64]

MAX_PRIME_BITS: Final = 50
_WORD_BITS: Final = 32
_SIGN_BIT: Final = 1 << (LIMB_BITS - 1)


@dataclass(frozen=True)
class ModularRing:
    """Z_t, t the product of `primes`, one or two odd ones below 2^50. Raises InputError for others."""

    primes: tuple[int, ...]

    def __post_init__(self) -> None:
        fits = all(2 < p < 1 << MAX_PRIME_BITS and gmpy2.is_prime(p) for p in self.primes)
        if not fits or len(self.primes) not in (1, 2) or len(set(self.primes)) != len(self.primes):
            raise InputError(
                "primes of a ring of shares refused",
                expected=f"one or two different odd primes below 2^{MAX_PRIME_BITS}",
                got=", ".join(map(str, self.primes)) or "none",
            )

    @property
    def modulus(self) -> int:
        """t."""
        return prod(self.primes)

    def from_integers(self, values: npt.NDArray[np.int64]) -> ModularShares:
        """int64 integers mod t."""
        shifted = self.from_limbs((values.view(np.uint64) ^ np.uint64(_SIGN_BIT))[..., np.newaxis])
        return self.subtract(shifted, self.constant(_SIGN_BIT, values.ndim))

    def from_limbs(self, limbs: Words) -> ModularShares:
        """Integers of one or more limbs (..., limbs), low ones first, mod t."""
        return np.stack([_remainders(limbs, prime) for prime in self.primes])

    def to_limbs(self, a: ModularShares) -> ShareArray:
        """The integers of [0, t) that residues stand for, two limbs (..., 2): by the Chinese remainder theorem."""
        low = _widen(a[0])
        if len(self.primes) == 1:
            return low
        first, second = self.primes
        distance = _subtract(a[1], _multiply(a[0], np.uint64(1), second), second)
        factor = _multiply(distance, np.uint64(pow(first, -1, second)), second)
        return add_shares(low, multiply_limbs(_widen(factor), constant(first)))

    def constant(self, value: int, dimensions: int) -> ModularShares:
        """One integer of any size, (primes, 1, ..., 1), to meet arrays of so many dimensions behind the primes'."""
        residues = np.array([value % prime for prime in self.primes], np.uint64)
        return residues.reshape(-1, *(1,) * dimensions)

    def add(self, a: ModularShares, b: ModularShares) -> ModularShares:
        """a + b, shapes broadcast."""
        return np.stack([_add(x, y, prime) for x, y, prime in zip(a, b, self.primes, strict=True)])

    def subtract(self, a: ModularShares, b: ModularShares) -> ModularShares:
        """a - b, shapes broadcast."""
        return np.stack([_subtract(x, y, prime) for x, y, prime in zip(a, b, self.primes, strict=True)])

    def negate(self, a: ModularShares) -> ModularShares:
        """-a."""
        return self.subtract(np.zeros_like(a), a)

    def multiply(self, a: ModularShares, b: ModularShares) -> ModularShares:
        """a b, shapes broadcast. A known factor times a share is a share of the product."""
        return np.stack([_multiply(x, y, prime) for x, y, prime in zip(a, b, self.primes, strict=True)])

    def sum_along(self, a: ModularShares, axis: int) -> ModularShares:
        """Sums along one axis, counted without the primes' and not negative, of fewer than 2^14 numbers."""
        sums = a.sum(axis=axis + 1, dtype=np.uint64)[..., np.newaxis]
        return np.stack([_remainders(x, prime) for x, prime in zip(sums, self.primes, strict=True)])


def _add(a: Words, b: Words, prime: int) -> Words:
    return _take_off(a + b, prime)


def _subtract(a: Words, b: Words, prime: int) -> Words:
    with np.errstate(over="ignore"):  # NumPy warns where a single element wraps
        difference = a - b
        least: Words = np.minimum(difference, difference + np.uint64(prime))
    return least


def _multiply(a: Words, b: Words | np.uint64, prime: int) -> Words:
    """a b mod p for a below 2^50 and b below p.

    The quotient in float64 takes three roundings, each of at most 2^-53 of a number below 2^50, and its floor is off
    by at most one. Source: Shoup's NTL, products of single words.
    """
    quotient = (a.astype(np.float64) * np.asarray(b).astype(np.float64) * (1 / prime)).astype(np.uint64)
    with np.errstate(over="ignore"):
        # Both products wrap mod 2^64, and their difference lies in [-p, 2 p).
        rest = a * b - quotient * np.uint64(prime)
        return _take_off(np.minimum(rest, rest + np.uint64(prime)), prime)


def _take_off(a: Words, prime: int) -> Words:
    """a mod p for a below 2 p: below p it is less than what wraps around below it."""
    with np.errstate(over="ignore"):
        least: Words = np.minimum(a, a - np.uint64(prime))
    return least


def _remainders(limbs: Words, prime: int) -> Words:
    """Integers (..., limbs) mod p, by words of 32 bits."""
    total = np.zeros(limbs.shape[:-1], np.uint64)
    for position in range(limbs.shape[-1]):
        low, high = (
            limbs[..., position] & np.uint64((1 << _WORD_BITS) - 1),
            limbs[..., position] >> np.uint64(_WORD_BITS),
        )
        for number, word in enumerate((low, high)):
            weight = pow(2, LIMB_BITS * position + _WORD_BITS * number, prime)
            total = _add(total, _multiply(word, np.uint64(weight), prime), prime)
    return total


def _widen(a: Words) -> ShareArray:
    return np.stack([a, np.zeros_like(a)], axis=-1)
