"""Answers mod fewer primes: x becomes the nearest integer to x q' / q, by residues.

One prime after the other goes: with h = (p - 1) / 2 the nearest integer to x / p is (x + h - ((x + h) mod p)) / p,
and its residues follow from the residues of x. Sources: Brakerski and Vaikuntanathan (FOCS 2011) for smaller moduli;
Cheon, Han, Kim, Kim and Song (SAC 2018) for residues.
"""

from __future__ import annotations

import numpy as np

from hekat.engine.ring.interface import RingEngine
from hekat.scheme.bfv.elements import Elements, add_elements
from hekat.scheme.bfv.parameters import BfvParameters
from hekat.scheme.bfv.shared_products.layout import first_primes
from hekat.scheme.ring_elements import constants


def drop_primes(parameters: BfvParameters, elements: Elements, kept: int, engine: RingEngine) -> Elements:
    """Coefficients (..., primes, N) of `parameters` in the ring of its first `kept` primes.

    Off by at most 1/2 and 2^-46 a coefficient. Constant-time.
    """
    for count in range(len(parameters.primes) - 1, kept - 1, -1):
        elements = _drop_last(first_primes(parameters, count + 1), elements, engine)
    return elements


def _drop_last(parameters: BfvParameters, elements: Elements, engine: RingEngine) -> Elements:
    left, last = first_primes(parameters, len(parameters.primes) - 1), parameters.primes[-1]
    half = tuple(constants(part, last >> 1) for part in parameters.parts)
    shifted = add_elements(parameters, elements, half, engine)
    remainder = shifted[-1][..., -1:, :]
    dropped = []
    for part, x in zip(left.parts, shifted, strict=False):
        primes = np.array(part.primes, np.uint64)[:, np.newaxis]
        # Below twice the other prime, since both have as many bits: one subtraction, where it does not wrap around.
        below = np.minimum(remainder, remainder - primes)
        difference = engine.ring_sub(part, np.ascontiguousarray(x[..., : len(part.primes), :]), below)
        inverse = constants(part, *(pow(last, -1, prime) for prime in part.primes))
        dropped.append(engine.ring_mul(part, difference, inverse))
    return tuple(dropped)
