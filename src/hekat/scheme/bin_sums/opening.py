"""How the guest opens what a host sends: phases mod 2^w, whose quotients are the sums."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from hekat.engine.interface import IndexArray
from hekat.engine.ring.interface import RingArray, RingEngine
from hekat.engine.ring.parameters import Ring
from hekat.engine.select import get_engine
from hekat.errors import InputError, KeyRefusedError
from hekat.scheme.bin_sums.answers import Answers
from hekat.scheme.bin_sums.conceal import ANSWERS_AT_ONCE
from hekat.scheme.bin_sums.keys import PrivateKey
from hekat.scheme.bin_sums.layout import SumLayout

# Pieces of a coefficient of c1: times a secret their products are exact in a ring of one prime.
PIECE_BITS = 24


def open_answers(
    key: PrivateKey, answers: Answers, rows: IndexArray, engine: RingEngine | None = None
) -> npt.NDArray[np.int64]:
    """The sums (numbers, C), segment by segment, bins ascending.

    `rows` (segments,): rows of every segment that the answers hold. Raises KeyRefusedError for answers under another
    key, InputError for a sum that so many rows within their ranges cannot have, without it.
    """
    if answers.key != key.public:
        raise KeyRefusedError(
            "sums are under another key",
            expected=f"key {key.public.fingerprint}",
            got=f"key {answers.key.fingerprint}",
            cure="open them with the key they were made under",
        )
    engine, layout = engine or get_engine(), answers.layout
    if rows.shape != answers.bin_counts.shape:
        raise InputError(
            "rows of segments refused", expected=f"{len(answers.bin_counts)} counts", got=f"shape {rows.shape}"
        )
    phases = _shared(key, answers, layout, engine) + answers.c0
    sums = np.stack([quotients(phases[:, c], layout, c) for c in range(layout.components)], axis=1)
    of_rows = np.repeat(rows, answers.bin_counts)[:, np.newaxis]
    lows, highs = np.array(layout.ranges, np.int64).T
    if not ((of_rows * lows <= sums) & (sums <= of_rows * highs)).all():
        raise InputError(
            "an opened sum is none of these rows",
            expected="sums within the rows of a segment times the range of a row",
            got="another",
            cure="all parties must run the same job and release",
        )
    return sums


def quotients(phases: RingArray, layout: SumLayout, component: int) -> npt.NDArray[np.int64]:
    """The sums in phases mod 2^w, or mod 2^64."""
    bits, count = layout.sent_bits, layout.counts[component]
    mask, half = np.uint64((1 << bits) - 1), np.uint64(bits // 2)
    shifted = (phases + np.uint64(layout.slack(component))) & mask
    # floor(shifted t / 2^w) by halves of `shifted`: t has fewer than 64 - w/2 bits.
    low = (shifted & np.uint64((1 << bits // 2) - 1)) * np.uint64(count)
    quotient = ((shifted >> half) * np.uint64(count) + (low >> half)) >> half
    least = layout.ranges[component][0] * layout.rows
    # The quotient is the sum mod t, and t sums are possible.
    return least + (quotient.astype(np.int64) - least) % count


def _shared(key: PrivateKey, answers: Answers, layout: SumLayout, engine: RingEngine) -> RingArray:
    """The coefficients of c1 s_c mod 2^64 where numbers lie, (numbers, C)."""
    ring = Ring(layout.parameters.degree, layout.parameters.ring.primes[:1])
    secrets = key.secrets[: layout.components, :1]
    windows = layout.windows(answers.bin_counts)
    used = np.full(len(answers.c1), layout.window)
    ends = np.cumsum(windows)[windows > 0] - 1
    used[ends] = (answers.bin_counts - (windows - 1) * layout.window)[windows > 0]
    taken = [
        _products(ring, answers.c1[start : start + ANSWERS_AT_ONCE], secrets, layout, engine)
        for start in range(0, len(answers.c1), ANSWERS_AT_ONCE)
    ]
    products = np.concatenate(taken) if taken else np.zeros((0, layout.window, layout.components), np.uint64)
    shared: RingArray = products[np.arange(layout.window) < used[:, np.newaxis]]
    return shared


def _products(ring: Ring, c1: RingArray, secrets: RingArray, layout: SumLayout, engine: RingEngine) -> RingArray:
    """The first W coefficients of c1 s_c mod 2^64, (answers, W, C)."""
    total = np.zeros((len(c1), layout.window, len(secrets)), np.uint64)
    pieces = [c1] if layout.sent_bits <= 32 else [c1 & np.uint64((1 << PIECE_BITS) - 1), c1 >> np.uint64(PIECE_BITS)]
    prime = ring.primes[0]
    for number, piece in enumerate(pieces):
        transformed = engine.ring_ntt(ring, piece[:, np.newaxis])
        window = engine.ring_first_products(ring, transformed, secrets, layout.window)[:, :, 0].swapaxes(1, 2)
        # A product is an integer below p / 2 in magnitude: a residue above stands for a negative one.
        signed = window - np.where(window > prime // 2, np.uint64(prime), np.uint64(0))
        total += signed << np.uint64(PIECE_BITS * number)
    return total
