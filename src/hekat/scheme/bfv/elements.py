"""Polynomials over all parts of a modulus: one array a part, and the engine's operations on every part in turn.

The functions for arrays reduce integers without a branch or a division on them. `residues_at` and
`integers_of_residues` take single numbers (masks, masked numbers, a party's own sum); they compute with Python integers
and are not constant-time.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt

from hekat.engine.ring.interface import RingArray, RingEngine
from hekat.scheme import ring_elements
from hekat.scheme.bfv.parameters import BfvParameters

Elements = tuple[RingArray, ...]
"""For each part of the set uint64 (..., primes of the part, N), all of one leading shape."""

# Well below every prime: these have 48 bits.
SMALL_LIMIT = 1 << 40
# Integers are shifted into [0, 2^63) and cut in half: both halves are below every prime, which is above 2^32.
INT64_LIMIT = 1 << 62
_HALF_BITS = 32


def transform(parameters: BfvParameters, a: Elements, engine: RingEngine) -> Elements:
    """The transformed form, in which slots are multiplied."""
    return tuple(engine.ring_ntt(part, x) for part, x in zip(parameters.parts, a, strict=True))


def transform_back(parameters: BfvParameters, a: Elements, engine: RingEngine) -> Elements:
    """The coefficients."""
    return tuple(engine.ring_intt(part, x) for part, x in zip(parameters.parts, a, strict=True))


def add_elements(parameters: BfvParameters, a: Elements, b: Elements, engine: RingEngine) -> Elements:
    """Sums; leading shapes broadcast."""
    return tuple(engine.ring_add(part, x, y) for part, x, y in zip(parameters.parts, a, b, strict=True))


def multiply_slots(parameters: BfvParameters, a: Elements, b: Elements, engine: RingEngine) -> Elements:
    """Products slot by slot; leading shapes broadcast."""
    return tuple(engine.ring_mul(part, x, y) for part, x, y in zip(parameters.parts, a, b, strict=True))


def scale_elements(parameters: BfvParameters, a: Elements, factor: int, engine: RingEngine) -> Elements:
    """Products with one integer, either form."""
    return multiply_slots(parameters, a, _constants(parameters, factor), engine)


def join_elements(parts: Sequence[Elements]) -> Elements:
    """Elements of several parts, concatenated along their first axis; a single part is returned as it is."""
    return parts[0] if len(parts) == 1 else tuple(np.concatenate(x) for x in zip(*parts, strict=True))


def residues_of_small(parameters: BfvParameters, values: npt.NDArray[np.signedinteger[Any]]) -> Elements:
    """Coefficients (..., N) as elements; the caller makes sure that magnitudes are below SMALL_LIMIT."""
    return tuple(ring_elements.residues_of_small(part, values) for part in parameters.parts)


def residues_of_integers(parameters: BfvParameters, values: npt.NDArray[np.int64], engine: RingEngine) -> Elements:
    """Coefficients (..., N) as elements; the caller makes sure that magnitudes are below INT64_LIMIT."""
    shifted = (values + INT64_LIMIT).view(np.uint64)[..., np.newaxis, :]
    high, low = shifted >> np.uint64(_HALF_BITS), shifted & np.uint64((1 << _HALF_BITS) - 1)
    both = [tuple(np.repeat(x, len(part.primes), -2) for part in parameters.parts) for x in (high, low)]
    total = add_elements(parameters, scale_elements(parameters, both[0], 1 << _HALF_BITS, engine), both[1], engine)
    return add_elements(parameters, total, _constants(parameters, -INT64_LIMIT), engine)


def residues_at(parameters: BfvParameters, values: Sequence[int]) -> Elements:
    """Integers of any size as residues (count, primes of the part): single coefficients, without their polynomials."""
    return tuple(
        np.array([[value % prime for prime in part.primes] for value in values], np.uint64).reshape(
            -1, len(part.primes)
        )
        for part in parameters.parts
    )


def add_residues(parameters: BfvParameters, a: Elements, b: Elements) -> Elements:
    """Sums of residues (count, primes of the part)."""
    sums = []
    for part, x, y in zip(parameters.parts, a, b, strict=True):
        primes, total = np.array(part.primes, np.uint64), x + y
        sums.append(total - primes * (total >= primes))
    return tuple(sums)


def integers_of_residues(parameters: BfvParameters, residues: Elements) -> list[int]:
    """The integers in [0, q) of residues (count, primes of the part), by the Chinese remainder theorem."""
    modulus, factors = parameters.modulus, _basis(parameters)
    rows = np.concatenate(residues, axis=-1).tolist()
    return [sum(factor * residue for factor, residue in zip(factors, row, strict=True)) % modulus for row in rows]


def _constants(parameters: BfvParameters, value: int) -> Elements:
    """One integer as every coefficient, or every slot, of an element."""
    return tuple(ring_elements.constants(part, value) for part in parameters.parts)


@cache
def _basis(parameters: BfvParameters) -> tuple[int, ...]:
    """For each prime the integer mod q that is 1 there and 0 at all others."""
    modulus = parameters.modulus
    return tuple(modulus // prime * pow(modulus // prime, -1, prime) for prime in parameters.primes)
