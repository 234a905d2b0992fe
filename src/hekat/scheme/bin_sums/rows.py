"""Rows under a guest's key: symmetric encryption, in blocks whose uniform half is a seed."""

from __future__ import annotations

import os
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from hekat.engine.ring.checks import check_elements
from hekat.engine.ring.interface import RingArray, RingEngine
from hekat.engine.ring.parameters import Ring
from hekat.engine.select import get_engine
from hekat.errors import BoundError, InputError
from hekat.scheme.bin_sums.keys import SEED_BYTES, PrivateKey, PublicKey, expand
from hekat.scheme.bin_sums.layout import SumLayout
from hekat.scheme.parameter_set import check_same_parameters
from hekat.scheme.ring_elements import constants, residues_of_small

BLOCK_DOMAIN = b"hekat/bin-sums/a-of-rows/1:"


@dataclass(frozen=True)
class EncryptedRows:
    """A block of rows: (a_k, c0_(k,c)) with c0_(k,c) + a_k s_c = Delta_c m_(k,c) + e_(k,c) for each group k.

    `c0` has coefficients, (groups, C, primes, N); the a_k follow from `seed`. Raises InputError for another layout and
    for values that are no residues.
    """

    key: PublicKey
    layout: SumLayout
    row_count: int
    seed: bytes
    c0: RingArray = field(repr=False)

    def __post_init__(self) -> None:
        check_layout(self.key, self.layout)
        shape = check_elements(self.key.parameters.ring, self.c0, "encrypted rows")
        expected = (self.layout.groups(self.row_count), self.layout.components)
        if not 1 <= self.row_count <= self.layout.rows_at_once or shape != expected or len(self.seed) != SEED_BYTES:
            raise InputError(
                "encrypted rows have the wrong layout",
                expected=f"1 to {self.layout.rows_at_once:,} rows, and as many groups as these take",
                got=f"{self.row_count:,} rows, shape {shape}",
            )

    def second_halves(self, engine: RingEngine) -> RingArray:
        """a_k of every group, which all components share: (groups, 1, primes, N), transformed."""
        groups = len(self.c0)
        return expand(self.key.parameters, BLOCK_DOMAIN, self.seed, groups, engine)[:, np.newaxis]


def encrypt_rows(
    key: PrivateKey, values: npt.NDArray[np.int64], layout: SumLayout, engine: RingEngine | None = None
) -> EncryptedRows:
    """A block of rows (rows, C), at most `layout.rows_at_once`, each component in its range.

    The block's seed and the key of its errors are drawn here from the operating system, and nobody can pass them: no
    two blocks share an a. Raises InputError for another shape, BoundError for a value beyond its range, without it.
    """
    check_layout(key.public, layout)
    if values.dtype != np.int64 or values.ndim != 2 or values.shape[1] != layout.components or not len(values):
        raise InputError(
            "rows cannot be encrypted",
            expected=f"int64, shape (rows, {layout.components})",
            got=f"{values.dtype}, shape {values.shape}",
        )
    lows, highs = np.array(layout.ranges, np.int64).T
    if not (lows <= values.min(axis=0)).all() or not (values.max(axis=0) <= highs).all():
        raise BoundError("a row's integer passes its bound", expected="one within its range", got="another")
    engine, parameters = engine or get_engine(), layout.parameters
    ring, groups = parameters.ring, layout.groups(len(values))
    errors = engine.sample_cbd(os.urandom(SEED_BYTES), 0, groups * layout.components, parameters.degree)
    errors = errors.reshape(layout.components, groups, parameters.degree)
    seed = os.urandom(SEED_BYTES)
    a = expand(parameters, BLOCK_DOMAIN, seed, groups, engine)
    c0 = np.empty((groups, layout.components, *ring.element_shape), np.uint64)
    # One by one: products with a single element copy nothing.
    for c, delta in enumerate(layout.deltas):
        noisy = residues_of_small(ring, errors[c])
        _add_rows(ring, noisy, values[:, c], delta, layout.window, engine)
        shared = engine.ring_intt(ring, engine.ring_mul(ring, a, key.secrets[c]))
        c0[:, c] = engine.ring_sub(ring, noisy, shared)
    return EncryptedRows(key.public, layout, len(values), seed, c0)


def _add_rows(
    ring: Ring, elements: RingArray, values: npt.NDArray[np.int64], delta: int, window: int, engine: RingEngine
) -> None:
    """Add delta times each row's integer to the row's coefficient of `elements` (groups, primes, N), in place."""
    count = elements.shape[0] * (ring.degree // window)
    # Side by side first: few coefficients hold a row.
    packed = np.zeros((-(-count // ring.degree), ring.degree), np.int64)
    packed.reshape(-1)[: len(values)] = values
    scaled = engine.ring_mul(ring, residues_of_small(ring, packed), constants(ring, delta))
    rows = scaled.swapaxes(0, 1).reshape(len(ring.primes), -1)[:, :count]
    places = elements[..., ::window].swapaxes(0, 1)
    places += rows.reshape(places.shape)
    primes = np.array(ring.primes, np.uint64)[:, np.newaxis, np.newaxis]
    # Without a branch: a sum below its prime is less than what wraps around below it.
    np.minimum(places, places - primes, out=places)


def check_layout(key: PublicKey, layout: SumLayout) -> None:
    """Raise KeyRefusedError where the key is of another set, InputError where it lacks components."""
    check_same_parameters(layout.parameters, key.parameters, "a key for sums by bins")
    if layout.components > key.components:
        raise InputError(
            "a layout has more components than its key",
            expected=f"at most {key.components}",
            got=str(layout.components),
        )
