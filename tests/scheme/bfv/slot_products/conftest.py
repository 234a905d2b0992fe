"""Vectors to multiply, and what shares of their products add up to by Python's integers."""

from __future__ import annotations

import numpy as np

from hekat.engine.interface import Engine
from hekat.scheme.bfv import KeyPair
from hekat.scheme.bfv.slot_products import (
    SlotSums,
    SlotTerm,
    SlotVector,
    encrypt_slots,
    multiply_slots_masked,
    open_slots,
    prepare_slots,
)


def draw_vector(count: int, prime: int, rng: np.random.Generator) -> np.ndarray:
    """Uniform residues, the ends among them."""
    values = rng.integers(0, prime, count).astype(np.uint64)
    ends = np.array([0, 1, prime - 1, prime // 2, prime // 2 + 1], np.uint64)
    values[: min(count, len(ends))] = ends[:count]
    return values


def term_of(pair: KeyPair, plain: np.ndarray, secret: np.ndarray, prime: int, engine: Engine) -> SlotTerm:
    plain_vector, vector = (SlotVector(pair.public.parameters, prime, len(values)) for values in (plain, secret))
    return SlotTerm(prepare_slots(plain, plain_vector, engine), encrypt_slots(pair.private, secret, vector, engine))


def shares_of(pair: KeyPair, layout: SlotSums, terms: list[SlotTerm], engine: Engine) -> tuple[np.ndarray, np.ndarray]:
    """The share of the plain vectors' owner, and the share of the key's holder."""
    answer, own = multiply_slots_masked(layout, terms, engine)
    return own, open_slots(pair.private, answer, engine)


def added(own: np.ndarray, theirs: np.ndarray, prime: int) -> np.ndarray:
    """The sum of two shares as Python's integers."""
    assert own.dtype == theirs.dtype == np.uint64
    assert max(int(own.max()), int(theirs.max())) < prime
    return (own.astype(object) + theirs.astype(object)) % prime
