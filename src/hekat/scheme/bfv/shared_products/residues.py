"""Lists of numbers mod q by their residues, packed side by side into elements where the engine computes with them."""

from __future__ import annotations

import os

import numpy as np

from hekat.engine.interface import Engine
from hekat.engine.ring.interface import RingArray
from hekat.engine.ring.parameters import Ring
from hekat.errors import InputError
from hekat.scheme.bfv.elements import Elements
from hekat.scheme.bfv.keys import SEED_BYTES
from hekat.scheme.bfv.parameters import BfvParameters

Residues = tuple[RingArray, ...]
"""For each part of a set uint64 (primes of the part, count): the numbers' residues."""


def pack(parameters: BfvParameters, residues: Residues) -> Elements:
    """Residues as the coefficients of as many elements as they take, (elements, primes, N), the rest 0."""
    return tuple(_pack(part, x) for part, x in zip(parameters.parts, residues, strict=True))


def unpack(elements: Elements, count: int) -> Residues:
    """The first `count` coefficients of elements (elements, primes, N) in order."""
    return tuple(x.swapaxes(0, 1).reshape(x.shape[1], -1)[:, :count] for x in elements)


def add(parameters: BfvParameters, a: Residues, b: Residues) -> Residues:
    """Sums."""
    return tuple(add_below(part, x, y) for part, x, y in zip(parameters.parts, a, b, strict=True))


def add_below(part: Ring, a: RingArray, b: RingArray) -> RingArray:
    """Sums of residues (..., primes, count) of one part, without a branch."""
    primes, total = np.array(part.primes, np.uint64)[:, np.newaxis], a + b
    # A sum below its prime is less than what wraps around below it.
    return np.minimum(total, total - primes, out=total)  # type: ignore[no-any-return]


def draw_uniform(parameters: BfvParameters, count: int, engine: Engine) -> Residues:
    """Numbers uniform mod q from the operating system's randomness: uniform residues, prime by prime."""
    return expand_residues(parameters, os.urandom(SEED_BYTES), count, engine)


def expand_residues(parameters: BfvParameters, key: bytes, count: int, engine: Engine) -> Residues:
    """Numbers uniform mod q that follow from a key of 32 bytes, no two parts from one stream.

    The time shows how many words of a stream were no residues; the numbers do not depend on them.
    """
    elements = -(-count // parameters.degree)
    parts = enumerate(parameters.parts)
    return unpack(tuple(engine.expand_uniform(part, key, i * elements, elements) for i, part in parts), count)


def round_to(parameters: BfvParameters, residues: Residues, bits: int, engine: Engine) -> RingArray:
    """floor(u 2^bits / q) mod 2^bits of every number u: two limbs, (count, 2)."""
    return engine.ring_round(parameters.primes, np.ascontiguousarray(np.concatenate(residues).T), bits)


def check_residues(parameters: BfvParameters, residues: Residues, count: int, what: str) -> None:
    """Raise InputError unless `residues` has `count` numbers, each residue below its prime."""
    if len(residues) != len(parameters.parts):
        raise InputError(f"{what} have the wrong layout", expected=f"{len(parameters.parts)} parts", got="others")
    for part, x in zip(parameters.parts, residues, strict=True):
        expected = (len(part.primes), count)
        if x.dtype != np.uint64 or x.shape != expected:
            raise InputError(
                f"{what} have the wrong layout",
                expected=f"uint64, shape {expected}",
                got=f"{x.dtype}, shape {x.shape}",
                cure="all parties must run the same job and release",
            )
        if not (x < np.array(part.primes, np.uint64)[:, np.newaxis]).all():
            raise InputError(f"{what} hold a residue that is none", expected="below its prime", got="more")


def _pack(part: Ring, residues: RingArray) -> RingArray:
    count = residues.shape[1]
    elements = -(-count // part.degree)
    padded = np.zeros((len(part.primes), elements * part.degree), np.uint64)
    padded[:, :count] = residues
    return np.ascontiguousarray(padded.reshape(len(part.primes), elements, part.degree).swapaxes(0, 1))
