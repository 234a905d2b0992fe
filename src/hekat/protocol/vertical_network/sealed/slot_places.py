"""Where numbers of rows and units lie in slots: unit after unit, each with its rows in the same order."""

from __future__ import annotations

import numpy as np

from hekat.protocol.shares.modular_shares import ModularShares
from hekat.protocol.vertical_network.sealed.scales import SLOT_RING, SealedShape


def place_units(values: ModularShares, shape: SealedShape) -> ModularShares:
    """Numbers (primes, rows, units + 1) as slots (primes, slots), zeros behind each unit's rows."""
    placed = np.zeros((len(values), shape.units + 1, shape.padded_rows), np.uint64)
    placed[..., : shape.rows] = values.swapaxes(1, 2)
    return placed.reshape(len(values), -1)


def take_units(slots: ModularShares, shape: SealedShape) -> ModularShares:
    """What `place_units` placed."""
    units = slots.reshape(len(slots), shape.units + 1, shape.padded_rows)
    return np.ascontiguousarray(units[..., : shape.rows].swapaxes(1, 2))


def repeat_rows(values: ModularShares, shape: SealedShape) -> ModularShares:
    """Numbers (primes, rows) once for each unit of one block, (primes, block_slots)."""
    placed = np.zeros((len(values), 1, shape.padded_rows), np.uint64)
    placed[:, 0, : shape.rows] = values
    return np.repeat(placed, shape.block_slots // shape.padded_rows, axis=1).reshape(len(values), -1)


def add_up_units(slots: ModularShares, shape: SealedShape) -> ModularShares:
    """Slots of one block, (primes, block_slots), summed over its units: (primes, rows)."""
    units = slots.reshape(len(slots), -1, shape.padded_rows)[..., : shape.rows]
    return SLOT_RING.sum_along(units, 0)
