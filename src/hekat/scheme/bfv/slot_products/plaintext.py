"""Vectors mod a prime p as polynomials mod p: slots, centred coefficients, and fractions of q in units of 1 / p.

Slots are the engine's own transform mod p, 1 mod 2 N: products of polynomials are products slot by slot.
Source: Smart and Vercauteren (Designs, Codes and Cryptography 2014).
"""

from __future__ import annotations

from typing import Final

import numpy as np
import numpy.typing as npt

from hekat.engine.interface import Engine
from hekat.engine.ring.interface import RingArray, RingEngine
from hekat.engine.ring.parameters import Ring
from hekat.scheme.bfv.elements import Elements, scale_elements
from hekat.scheme.bfv.parameters import BfvParameters
from hekat.scheme.ring_elements import constants

SLOT_PRIMES: Final = (1125899906826241, 1125899906629633)
"""The two largest primes below 2^50 that are 1 mod 2 N: residues mod both are numbers mod a t just below 2^100."""

_FRACTION_BITS: Final = 128
_LIMB_BITS: Final = 64


def coefficients_of(ring: Ring, slots: RingArray, factor: int, engine: RingEngine) -> npt.NDArray[np.int64]:
    """`factor` times the polynomials with the slots (blocks, N), coefficients in [-(p - 1) / 2, (p - 1) / 2]."""
    (prime,), half = ring.primes, ring.primes[0] // 2
    scaled = engine.ring_mul(ring, slots[:, np.newaxis], constants(ring, factor % prime))
    shifted = engine.ring_add(ring, engine.ring_intt(ring, scaled), constants(ring, half))
    # Residues about 0 without a branch: (x + half) mod p - half.
    return shifted[:, 0].astype(np.int64) - np.int64(half)


def slots_of(ring: Ring, coefficients: RingArray, engine: RingEngine) -> RingArray:
    """The slots (blocks, N) of polynomials with coefficients (blocks, N) in [0, p)."""
    return engine.ring_ntt(ring, coefficients[:, np.newaxis])[:, 0]


def negate(ring: Ring, coefficients: RingArray, engine: RingEngine) -> RingArray:
    """Minus coefficients (blocks, N), mod p."""
    zeros = np.zeros_like(coefficients)[:, np.newaxis]
    return engine.ring_sub(ring, zeros, coefficients[:, np.newaxis])[:, 0]


def floor_of_units(parameters: BfvParameters, elements: Elements, prime: int, engine: Engine) -> RingArray:
    """floor(u p / q), exactly, for the coefficients u in [0, q) of elements (blocks, primes, N): (blocks, N), below p.

    With z = floor(u 2^128 / q) the number z p / 2^128 lies less than 2^-78 below u p / q. Both have one floor, but
    where an integer lies between them: there the first 64 bits behind the point are 0 in u p / q, and 2^64 - 1 in the
    other; elsewhere they are never more in the other. u p / q has the fraction (u p mod q) / q. Constant-time.
    """
    limbs = engine.ring_round(parameters.primes, _rows(elements), _FRACTION_BITS)
    product = engine.to_host(engine.int_mul(limbs, np.full((len(limbs), 1), prime, np.uint64)))
    fractions = _rows(scale_elements(parameters, elements, prime, engine))
    exact = engine.ring_round(parameters.primes, fractions, _LIMB_BITS)[:, 0]
    passed = (product[:, 1] > exact).astype(np.uint64)
    floors: RingArray = product[:, 2] + passed
    return floors.reshape(-1, parameters.degree)


def _rows(elements: Elements) -> RingArray:
    """Residues of one coefficient after the other, (blocks * N, primes)."""
    whole = np.concatenate(elements, axis=1)
    return np.ascontiguousarray(whole.swapaxes(1, 2)).reshape(-1, whole.shape[1])
