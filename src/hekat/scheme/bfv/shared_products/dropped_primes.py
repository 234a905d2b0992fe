"""Answers mod fewer primes: x becomes the nearest integer to x q' / q, by residues.

One prime after the other goes: with h = (p - 1) / 2 the nearest integer to x / p is (x + h - ((x + h) mod p)) / p,
and its residues follow from the residues of x. Sources: Brakerski and Vaikuntanathan (FOCS 2011) for smaller moduli;
Cheon, Han, Kim, Kim and Song (SAC 2018) for residues.
"""

from __future__ import annotations

from hekat.engine.ring.interface import RingEngine
from hekat.scheme.bfv.elements import Elements
from hekat.scheme.bfv.parameters import BfvParameters
from hekat.scheme.bfv.shared_products.layout import first_primes


def drop_primes(parameters: BfvParameters, elements: Elements, kept: int, engine: RingEngine) -> Elements:
    """Coefficients (count, primes, N) of `parameters` in the ring of its first `kept` primes.

    Off by at most 1/2 and 2^-46 a coefficient. Constant-time.
    """
    for count in range(len(parameters.primes), kept, -1):
        left, prime = first_primes(parameters, count - 1), parameters.primes[count - 1]
        last = elements[-1][:, -1]
        elements = tuple(
            engine.ring_drop_prime(part, x[:, : len(part.primes)], last, prime)
            for part, x in zip(left.parts, elements, strict=False)
        )
    return elements
