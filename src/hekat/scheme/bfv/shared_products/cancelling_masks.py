"""Masks that cancel in the sum over several parties, from seeds that each two of them share."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Final

import numpy as np

from hekat.engine.interface import Engine
from hekat.engine.select import get_engine
from hekat.errors import InputError
from hekat.scheme.bfv.keys import SEED_BYTES
from hekat.scheme.bfv.parameters import BfvParameters
from hekat.scheme.bfv.shared_products.layout import MatrixLayout
from hekat.scheme.bfv.shared_products.residues import Residues, add, expand_residues

MASK_DOMAIN: Final = b"hekat/bfv/cancelling-mask/1:"


def cancelling_masks(
    layout: MatrixLayout, added: Sequence[bytes], taken: Sequence[bytes], engine: Engine | None = None
) -> Residues:
    """The sum of the masks of `added` seeds less the masks of `taken` ones, mod q, as `cover_products` takes them.

    Each two parties share a secret seed of 32 bytes for one answer and no other; one of them adds its mask, the other
    takes it off. To anybody without one of a party's seeds that party's sum is uniform. The time shows how many words
    of a stream were no residues; the masks do not depend on them. Raises InputError for other seeds.
    """
    if any(len(seed) != SEED_BYTES for seed in (*added, *taken)) or len({*added, *taken}) != len(added) + len(taken):
        raise InputError("seeds of masks refused", expected=f"different ones of {SEED_BYTES} bytes", got="others")
    engine, parameters = engine or get_engine(), layout.parameters
    total = tuple(np.zeros((len(part.primes), layout.numbers), np.uint64) for part in parameters.parts)
    for seeds, sign in ((added, 1), (taken, -1)):
        for seed in seeds:
            mask = _expand(layout, seed, engine)
            total = add(parameters, total, mask if sign > 0 else _negate(parameters, mask))
    return total


def _expand(layout: MatrixLayout, seed: bytes, engine: Engine) -> Residues:
    """Uniform residues of every number."""
    key = hashlib.sha256(MASK_DOMAIN + layout.parameters.identity + seed).digest()
    return expand_residues(layout.parameters, key, layout.numbers, engine)


def _negate(parameters: BfvParameters, residues: Residues) -> Residues:
    """p - x, and p itself for 0: `add` brings both below p, since the other addend is below p."""
    return tuple(
        np.array(part.primes, np.uint64)[:, np.newaxis] - x for part, x in zip(parameters.parts, residues, strict=True)
    )
