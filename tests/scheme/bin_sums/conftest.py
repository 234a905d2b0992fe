"""Engines, keys, exchanges of rows, and the exact sums that they should give."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import gmpy2
import numpy as np
import pytest

from hekat.engine.interface import Engine
from hekat.engine.ring.parameters import Ring
from hekat.engine.select import READY, available_engines, get_engine
from hekat.scheme.bin_sums import (
    BINS,
    BinSummer,
    BinSumParameters,
    BinSums,
    KeyPair,
    SumLayout,
    conceal,
    encrypt_rows,
    generate_keys,
    open_answers,
)
from hekat.scheme.bin_sums import parameters as parameters_module

RANGES = ((-8, 8), (0, 16))
TOY_DEGREE = 1024


@pytest.fixture(scope="session")
def engine() -> Engine:
    return get_engine("cpu") if available_engines().get("cpu") == READY else get_engine("reference")


@pytest.fixture(scope="session")
def pair(engine: Engine) -> KeyPair:
    return generate_keys(len(RANGES), engine=engine)


@pytest.fixture(scope="session")
def toy() -> BinSumParameters:
    """A set that protects nothing, of the smallest degree: only a test may make it, and while it is made alone."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(parameters_module.MAX_MODULUS_BITS, TOY_DEGREE, BINS.modulus.bit_length())
        return BinSumParameters("toy", Ring(TOY_DEGREE, BINS.ring.primes))


@dataclass(frozen=True)
class Exchange:
    """Rows in the order of their segments, and a host's digits of them."""

    values: np.ndarray
    digits: np.ndarray
    starts: np.ndarray
    bin_counts: np.ndarray

    @property
    def rows(self) -> np.ndarray:
        return np.diff(self.starts)

    def expected(self) -> np.ndarray:
        """Integers (numbers, C), counted row by row."""
        sums = []
        for segment, bins in enumerate(self.bin_counts):
            total = np.zeros((bins, self.values.shape[1]), np.int64)
            here = slice(self.starts[segment], self.starts[segment + 1])
            for digits in self.digits[:, here]:
                np.add.at(total, digits[digits >= 0], self.values[here][digits >= 0])
            sums.append(total)
        return np.concatenate(sums)


def draw_exchange(
    seed: int, rows: list[int], bin_counts: list[int], columns: int, ranges: tuple[tuple[int, int], ...] = RANGES
) -> Exchange:
    """Random rows: each of `columns` columns has its own share of a segment's bins, and no digit in one row of six."""
    rng = np.random.default_rng(seed)
    starts = np.concatenate(([0], np.cumsum(rows)))
    values = np.stack([rng.integers(low, high, starts[-1], endpoint=True) for low, high in ranges], axis=1)
    digits = np.full((columns, starts[-1]), -1, np.int32)
    for segment, bins in enumerate(bin_counts):
        here, edges = slice(starts[segment], starts[segment + 1]), np.linspace(0, bins, columns + 1).astype(int)
        for column, (low, high) in enumerate(pairwise(edges)):
            if low < high:
                drawn = rng.integers(low, high, rows[segment])
                digits[column, here] = np.where(rng.random(rows[segment]) < 1 / 6, -1, drawn)
    return Exchange(values, digits, starts, np.array(bin_counts))


def layout_of(
    exchange: Exchange,
    window: int,
    parameters: BinSumParameters = BINS,
    ranges: tuple[tuple[int, int], ...] = RANGES,
) -> SumLayout:
    return SumLayout(parameters, window, max(1, int(exchange.rows.max())), ranges)


def sum_exchange(pair: KeyPair, exchange: Exchange, layout: SumLayout, engine: Engine) -> list[BinSums]:
    """What the host has of every block."""
    summer = BinSummer(pair.public, layout, exchange.starts, exchange.bin_counts, engine)
    found = []
    for start in range(0, len(exchange.values), layout.rows_at_once):
        at = slice(start, start + layout.rows_at_once)
        block = encrypt_rows(pair.private, exchange.values[at], layout, engine)
        found.append(summer.add(block, exchange.digits[:, at]))
    assert summer.rows_missing == 0
    return found


def open_exchange(pair: KeyPair, exchange: Exchange, layout: SumLayout, engine: Engine) -> np.ndarray:
    opened = []
    for sums in sum_exchange(pair, exchange, layout, engine):
        answers = conceal(sums, layout, engine)
        rows = exchange.rows[sums.segments.start : sums.segments.stop]
        opened.append(open_answers(pair.private, answers, rows, engine))
    return np.concatenate(opened)


def integers_of(residues: np.ndarray, ring: Ring) -> list[int]:
    """The integers in [0, q) of residues (primes, count)."""
    p, q = ring.primes
    first, second = (row.tolist() for row in residues)
    inverse = pow(p, -1, q)
    return [x + p * ((y - x) * inverse % q) for x, y in zip(first, second, strict=True)]


def multiply(a: list[int], b: list[int], modulus: int) -> list[int]:
    """The product in Z_q[X] / (X^N + 1) of coefficients in [0, q), by one product of big integers."""
    degree = len(a)
    width = 2 * modulus.bit_length() + degree.bit_length() + 1
    packed = [gmpy2.pack([gmpy2.mpz(x) for x in values], width) for values in (a, b)]
    full = [int(x) for x in gmpy2.unpack(packed[0] * packed[1], width)]
    full += [0] * (2 * degree - len(full))
    return [(low - high) % modulus for low, high in zip(full[:degree], full[degree:], strict=True)]


def phases_of(pair: KeyPair, sums: BinSums, engine: Engine) -> list[list[int]]:
    """c0_c + c1 s_c of the first window of the first segment, mod q: its W first coefficients for every component."""
    ring = pair.public.parameters.ring
    c1 = integers_of(engine.ring_intt(ring, sums.c1[0, 0]), ring)
    secrets = [integers_of(x, ring) for x in engine.ring_intt(ring, pair.private.secrets)]
    return [
        [
            (x + y) % ring.modulus
            for x, y in zip(integers_of(first, ring), multiply(c1, secret, ring.modulus), strict=False)
        ]
        for first, secret in zip(sums.c0[0, 0], secrets, strict=False)
    ]


def centred(value: int, modulus: int) -> int:
    return (value + modulus // 2) % modulus - modulus // 2
