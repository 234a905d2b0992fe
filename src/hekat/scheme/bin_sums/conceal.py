"""How a host hides in its sums all but the sums.

It adds an encryption of zero, which hides its digits in c1; takes of c0 the coefficients of its bins alone; adds to
each a uniform number, which hides the noise; and rounds both halves from q to a power of two. What is sent follows from
what the guest may know: c1 with its new randomness, and flooded coefficients of c0.
"""

from __future__ import annotations

import os
from typing import Final

import numpy as np
import numpy.typing as npt

from hekat.engine.interface import Engine, IndexArray
from hekat.engine.ring.interface import RingArray
from hekat.engine.ring.parameters import Ring
from hekat.engine.select import get_engine
from hekat.scheme.bin_sums.answers import Answers, answer_shapes
from hekat.scheme.bin_sums.keys import SEED_BYTES, PublicKey
from hekat.scheme.bin_sums.layout import SumLayout
from hekat.scheme.bin_sums.sums import BinSums
from hekat.scheme.ring_elements import constants

# Answers at a time: what is at work of them then fits a core's cache.
ANSWERS_AT_ONCE: Final = 16


def conceal(sums: BinSums, layout: SumLayout, engine: Engine | None = None) -> Answers:
    """What to send of sums; every call draws its own randomness from the operating system."""
    engine, ring = engine or get_engine(), layout.parameters.ring
    c1, c0 = (np.empty(shape, np.uint64) for shape in answer_shapes(layout, sums.bin_counts))
    number, firsts = 0, []
    for segment, bins in enumerate(sums.bin_counts.tolist()):
        for window in range(0, -(-bins // layout.window), ANSWERS_AT_ONCE):
            used = np.clip(bins - np.arange(window, window + ANSWERS_AT_ONCE) * layout.window, 0, layout.window)
            own = segment, slice(window, window + np.count_nonzero(used))
            second, first = randomise(sums.c1[own], sums.c0[own], used[used > 0], sums.key, layout, engine)
            c1[number : number + len(second)] = round_elements(ring, second, layout.sent_bits, engine)
            number += len(second)
            firsts.append(first)
    if firsts:
        flooded = flood(np.concatenate(firsts), layout, engine)
        c0[:] = round_elements(ring, flooded, layout.sent_bits, engine).reshape(-1)[: c0.size].reshape(c0.shape)
    return Answers(sums.key, layout, sums.first_segment, sums.bin_counts, c1, c0)


def randomise(
    c1: RingArray, c0: RingArray, used: IndexArray, key: PublicKey, layout: SumLayout, engine: Engine
) -> tuple[RingArray, RingArray]:
    """(c1, c0) of sums, c1 (answers, primes, N), transformed, and c0 (answers, C, primes, W), an encryption of zero
    added: all coefficients of c1, (answers, primes, N), and the first `used` ones of c0, (numbers, C, primes); neither
    flooded nor rounded.
    """
    ring = layout.parameters.ring
    # Both halves share v. c0 takes no error: what floods it does more.
    small = engine.sample_cbd(os.urandom(SEED_BYTES), 0, 2 * len(c1), ring.degree)
    pair = np.concatenate((key.a[np.newaxis], key.b[: layout.components]))
    second, first = engine.ring_add_zeros(ring, c1, c0, small.reshape(len(c1), 2, ring.degree), pair)
    return second, first.transpose(0, 3, 1, 2)[np.arange(layout.window) < used[:, np.newaxis]]


def flood(numbers: RingArray, layout: SumLayout, engine: Engine) -> RingArray:
    """Numbers (count, C, primes) plus f uniform below F_c, as coefficients of elements (chunks, primes, N) in order.

    F_c is a multiple of p_2: f = p_2 f_1 + f_2 with f_1 uniform below F_c / p_2 and f_2 uniform below p_2.
    """
    ring, count = layout.parameters.ring, len(numbers)
    small = ring.primes[1]
    high = np.stack([_uniform(count, flood // small, engine) for flood in layout.floods], axis=1).reshape(-1, 1)
    low = _uniform(count * layout.components, small, engine).reshape(-1, 1)
    high, low, plain = (
        _elements(ring, np.broadcast_to(x, (count * layout.components, 2))) for x in (high, low, numbers.reshape(-1, 2))
    )
    f = engine.ring_add(ring, engine.ring_mul(ring, high, constants(ring, small)), low)
    return engine.ring_add(ring, plain, f)


def round_elements(ring: Ring, elements: RingArray, bits: int, engine: Engine) -> npt.NDArray[np.uint64]:
    """Coefficients x mod q of elements (..., primes, N) as round(x 2^bits / q) mod 2^bits, a function of x alone.

    x / q mod 1 is the sum of y_i / p_i, y_i = x (q / p_i)^-1 mod p_i. The y_i are exact in floating point, and the sum
    is off by less than 2^(bits - 50) units.
    """
    p1, p2 = ring.primes
    y = engine.ring_mul(ring, elements, constants(ring, pow(p2, -1, p1), pow(p1, -1, p2)))
    scale = float(1 << bits)
    parts = y[..., 0, :] * (scale / p1)
    parts += y[..., 1, :] * (scale / p2)
    np.rint(parts, out=parts)
    rounded = parts.astype(np.uint64)
    rounded &= np.uint64((1 << bits) - 1)
    return rounded


def _uniform(count: int, bound: int, engine: Engine) -> RingArray:
    """Uniform below a bound of less than 2^64, shape (count,)."""
    drawn: RingArray = engine.to_host(engine.random_below(count, bound))[:, 0]
    return drawn


def _elements(ring: Ring, residues: RingArray) -> RingArray:
    """Residues (count, primes) as the first coefficients of as many elements as they take, the rest 0."""
    chunks = -(-len(residues) // ring.degree)
    padded = np.zeros((chunks * ring.degree, len(ring.primes)), np.uint64)
    padded[: len(residues)] = residues
    return np.ascontiguousarray(padded.reshape(chunks, ring.degree, -1).swapaxes(1, 2))
