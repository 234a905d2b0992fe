"""Sign-and-magnitude arithmetic on top of an engine's unsigned integer operations; widths grow, nothing wraps."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from hekat.engine.interface import BoolArray, Engine, IndexArray
from hekat.engine.limbs import LimbArray, widen


class Signed(NamedTuple):
    """Integers as |x| in canonical limbs, shape (..., k), and where x < 0, shape (...). Zero is never negative."""

    magnitude: LimbArray
    negative: BoolArray

    @property
    def shape(self) -> tuple[int, ...]:
        return self.negative.shape


def make_signed(magnitude: LimbArray, negative: BoolArray) -> Signed:
    """The integers in normal form: no minus sign on zero, no limb more than the largest magnitude needs."""
    used = np.flatnonzero(magnitude.reshape(-1, magnitude.shape[-1]).any(axis=0))
    limb_count = int(used[-1]) + 1 if used.size else 1
    magnitude = np.ascontiguousarray(magnitude[..., :limb_count])
    return Signed(magnitude, np.logical_and(negative, magnitude.any(axis=-1)))


def negate(a: Signed) -> Signed:
    """-a."""
    return make_signed(a.magnitude, ~a.negative)


def add(engine: Engine, a: Signed, b: Signed) -> Signed:
    """a + b, shapes broadcast."""
    total = engine.int_add(a.magnitude, b.magnitude)
    difference, below = engine.int_sub(a.magnitude, b.magnitude)
    same_sign = a.negative == b.negative
    magnitude = np.where(same_sign[..., None], total, widen(difference, total.shape[-1]))
    return make_signed(magnitude, a.negative ^ (below & ~same_sign))


def subtract(engine: Engine, a: Signed, b: Signed) -> Signed:
    """a - b, shapes broadcast."""
    return add(engine, a, negate(b))


def multiply(engine: Engine, a: Signed, b: Signed) -> Signed:
    """a * b, shapes broadcast."""
    return make_signed(engine.int_mul(a.magnitude, b.magnitude), a.negative ^ b.negative)


def floor_divmod(engine: Engine, a: Signed, b: Signed) -> tuple[Signed, Signed]:
    """Quotient rounded towards minus infinity, and the remainder with the divisor's sign, as Python's divmod.

    Raises InputError naming the index of a zero divisor.
    """
    quotient, remainder = engine.int_divmod(a.magnitude, b.magnitude)
    # |a| = q |b| + r. With unlike signs and r > 0, a = -(q + 1) |b| + (|b| - r) up to the sign of b.
    rounds_down = (a.negative ^ b.negative) & remainder.any(axis=-1)
    quotient = engine.int_add(quotient, rounds_down[..., None].astype(np.uint64))
    complement, _ = engine.int_sub(b.magnitude, remainder)
    remainder = np.where(rounds_down[..., None], complement, remainder)
    return make_signed(quotient, a.negative ^ b.negative), make_signed(
        remainder, np.broadcast_to(b.negative, rounds_down.shape)
    )


def equal(a: Signed, b: Signed) -> BoolArray:
    """Where a = b, shapes broadcast (already known to fit)."""
    limb_count = max(a.magnitude.shape[-1], b.magnitude.shape[-1])
    same = widen(a.magnitude, limb_count) == widen(b.magnitude, limb_count)
    return np.asarray(same.all(axis=-1) & (a.negative == b.negative))


def broadcast(a: Signed, shape: tuple[int, ...]) -> Signed:
    """The same integers repeated to `shape`."""
    magnitude = np.broadcast_to(a.magnitude, (*shape, a.magnitude.shape[-1]))
    return Signed(magnitude.copy(), np.broadcast_to(a.negative, shape).copy())


def take(a: Signed, positions: IndexArray) -> Signed:
    """The integers at flat `positions`, in their shape."""
    limb_count = a.magnitude.shape[-1]
    return make_signed(a.magnitude.reshape(-1, limb_count)[positions], a.negative.reshape(-1)[positions])
