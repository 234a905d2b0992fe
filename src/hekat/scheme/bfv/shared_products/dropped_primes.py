"""Answers mod fewer primes: x becomes the nearest integer to x q' / q, by residues.

One prime after the other goes: with h = (p - 1) / 2 the nearest integer to x / p is (x + h - ((x + h) mod p)) / p,
and its residues follow from the residues of x. Sources: Brakerski and Vaikuntanathan (FOCS 2011) for smaller moduli;
Cheon, Han, Kim, Kim and Song (SAC 2018) for residues.
"""

from __future__ import annotations

import numpy as np

from hekat.engine.ring.interface import RingEngine
from hekat.scheme.bfv.elements import Elements
from hekat.scheme.bfv.parameters import BfvParameters
from hekat.scheme.bfv.shared_products.layout import first_primes
from hekat.scheme.bfv.shared_products.residues import POLYNOMIALS_AT_ONCE
from hekat.scheme.ring_elements import constants


def drop_primes(parameters: BfvParameters, elements: Elements, kept: int, engine: RingEngine) -> Elements:
    """Coefficients (count, primes, N) of `parameters` in the ring of its first `kept` primes.

    Off by at most 1/2 and 2^-46 a coefficient. Constant-time.
    """
    left = first_primes(parameters, kept)
    dropped = tuple(np.empty((len(elements[0]), *part.element_shape), np.uint64) for part in left.parts)
    for start in range(0, len(elements[0]), POLYNOMIALS_AT_ONCE):
        at = slice(start, start + POLYNOMIALS_AT_ONCE)
        some = tuple(x[at] for x in elements)
        for count in range(len(parameters.primes), kept, -1):
            some = _drop_last(first_primes(parameters, count), some, engine)
        for into, x in zip(dropped, some, strict=True):
            into[at] = x
    return dropped


def _drop_last(parameters: BfvParameters, elements: Elements, engine: RingEngine) -> Elements:
    left, last = first_primes(parameters, len(parameters.primes) - 1), parameters.primes[-1]
    half = np.uint64(last >> 1)
    shifted = elements[-1][..., -1:, :] + half
    remainder = np.minimum(shifted, shifted - np.uint64(last))
    dropped = []
    for part, x in zip(left.parts, elements, strict=False):
        primes = np.array(part.primes, np.uint64)[:, np.newaxis]
        # (x + h) mod p, less h: below twice the other prime, which has as many bits. A number below its prime is less
        # than what wraps around below it.
        centred = remainder + (primes - half)
        np.minimum(centred, centred - primes, out=centred)
        difference = engine.ring_sub(part, np.ascontiguousarray(x[..., : len(part.primes), :]), centred)
        inverse = constants(part, *(pow(last, -1, prime) for prime in part.primes))
        dropped.append(engine.ring_mul(part, difference, inverse))
    return tuple(dropped)
