"""Integers as elements of one ring: what the schemes over `hekat.engine.ring` share."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from hekat.engine.ring.interface import RingArray
from hekat.engine.ring.parameters import Ring


def residues_of_small(ring: Ring, values: npt.NDArray[np.signedinteger[Any]]) -> RingArray:
    """Coefficients (..., N) as elements (..., primes, N); the caller makes sure that magnitudes are below every prime.

    Without a branch or a division on a value.
    """
    signed = values.astype(np.int64, copy=False)
    residues = np.empty((*values.shape[:-1], *ring.element_shape), np.int64)
    for number, prime in enumerate(ring.primes):
        row = residues[..., number, :]
        # The sign spread over the word picks the prime or nothing. In place: large arrays cost their fresh memory.
        np.right_shift(signed, 63, out=row)
        row &= prime
        row += signed
    return residues.view(np.uint64)


@lru_cache(maxsize=32)
def constants(ring: Ring, *values: int) -> RingArray:
    """One integer for all primes, or one for each, as every slot of an element (primes, N); read-only."""
    of_primes = values * len(ring.primes) if len(values) == 1 else values
    residues = np.array([[value % prime] for value, prime in zip(of_primes, ring.primes, strict=True)], np.uint64)
    element = np.repeat(residues, ring.degree, -1)
    element.flags.writeable = False
    return element
