"""The plain vector of a product, in slots, transformed once for all encrypted vectors that it meets."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from hekat.engine.interface import Engine
from hekat.engine.ring.interface import RingArray
from hekat.engine.select import get_engine
from hekat.errors import InputError
from hekat.scheme.bfv.elements import Elements
from hekat.scheme.bfv.slot_products.layout import SlotVector
from hekat.scheme.bfv.slot_products.plaintext import coefficients_of


@dataclass(frozen=True)
class PlainSlots:
    """A secret vector as transformed polynomials mod q of coefficients about 0, (blocks, primes, N)."""

    vector: SlotVector
    elements: Elements = field(repr=False)


def prepare_slots(residues: RingArray, vector: SlotVector, engine: Engine | None = None) -> PlainSlots:
    """A plain vector uint64 (count,) of residues mod p.

    Raises InputError for another shape or type, or what is no residue, without it.
    """
    engine = engine or get_engine()
    coefficients = coefficients_of(vector.ring, take_blocks(residues, vector), 1, engine)
    return PlainSlots(vector, tuple(engine.ring_ntt_integers(part, coefficients) for part in vector.parameters.parts))


def take_blocks(residues: RingArray, vector: SlotVector) -> RingArray:
    """Residues (count,) as slots (blocks, N), zeros behind them. Raises InputError as `prepare_slots` does."""
    if residues.dtype != np.uint64 or residues.shape != (vector.count,):
        raise InputError(
            "a vector of slots refused",
            expected=f"uint64, shape {(vector.count,)}",
            got=f"{residues.dtype}, shape {residues.shape}",
        )
    if not (residues < np.uint64(vector.prime)).all():
        raise InputError("a vector of slots holds a residue that is none", expected="below its prime", got="more")
    slots = np.zeros(vector.blocks * vector.parameters.degree, np.uint64)
    slots[: vector.count] = residues
    return slots.reshape(vector.blocks, -1)
