"""Every operation of residues with the kernels' PTX executed instruction by instruction, against Python integers.

What a GPU would run, but for ptxas: shuffles and votes of whole warps, loops, tails of batches and all addresses.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest

from hekat.engine.cuda.engine import CudaEngine
from hekat.engine.cuda.layout import Layout
from hekat.engine.interface import Modulus
from hekat.engine.limbs import LimbArray, ints_from_limbs, limbs_from_ints

from .ptx.device import InterpretedDevice

# Of each kind: one thread, and groups whose rows begin on 16 bytes and on 8 only.
QUICK = [(1, 4, True), (4, 2, True)]
LONG = [
    (1, 4, False),
    (1, 16, False),
    (1, 16, True),
    (4, 4, False),
    (4, 4, True),
    (2, 6, True),
    (8, 2, False),
    (32, 2, True),
]


def _name(layout: tuple[int, int, bool]) -> str:
    threads, limbs, pairs = layout
    return f"{threads}x{limbs}{' pairs' if pairs else ''}"


class Ring:
    """An engine whose kernels have one layout, a modulus that fills it, and residues that carry bugs are found with."""

    def __init__(self, layout: Layout) -> None:
        # Of the root of a square the engine takes residues of their own.
        self.engine: Any = CudaEngine(
            InterpretedDevice(), layout_of=lambda modulus: replace(layout, pairs=modulus.root is not None)
        )
        bits = 32 * layout.words
        self.rng = np.random.default_rng([layout.threads, layout.limbs, layout.pairs])
        # R just above n: then u >= n and a third subtraction of n do happen.
        root = (1 << bits) - 1 - 2 * self.below(1 << 20)
        self.root = root
        self.modulus = Modulus(root * root, root=root) if layout.pairs else Modulus(root)
        self.n = self.modulus.value
        edges = [0, 1, self.n - 1, self.n // 2, root - 1, self.n - self.n // root, (1 << bits - 1) % self.n]
        self.values = edges + [self.below(self.n) for _ in range(6)]

    def below(self, bound: int) -> int:
        return int.from_bytes(self.rng.bytes(bound.bit_length() // 8 + 9), "little") % bound

    def load(self, values: list[int]) -> Any:
        return self.engine.load(limbs_from_ints(values, self.modulus.limb_count), self.modulus)

    def ints(self, a: Any) -> list[int]:
        return ints_from_limbs(self.engine.store(a).reshape(-1, self.modulus.limb_count))

    def exponents(self, bits: int, count: int) -> tuple[list[int], LimbArray]:
        numbers = [0, 1, (1 << bits) - 1, 1 << bits - 1, *(self.below(1 << bits) for _ in range(count))][:count]
        return numbers, limbs_from_ints(numbers, -(-bits // 64))


@cache
def _make_ring(layout: Layout) -> Ring:
    return Ring(layout)


@pytest.fixture(
    params=[pytest.param(each, id=_name(each)) for each in QUICK]
    + [pytest.param(each, id=_name(each), marks=pytest.mark.long) for each in LONG]
)
def ring(request: pytest.FixtureRequest) -> Ring:
    """One for each layout; the constants of its modulus are made once."""
    ring = _make_ring(Layout(*request.param))
    ring.rng = np.random.default_rng(len(request.node.name))
    return ring


def test_in_and_out(ring: Ring) -> None:
    assert ring.ints(ring.load(ring.values)) == ring.values


@pytest.mark.long
def test_reduce(ring: Ring) -> None:
    wide = [0, ring.n, ring.n**2 - 1, *(ring.below(ring.n**2) for _ in range(4))]
    limbs = limbs_from_ints(wide, 2 * ring.modulus.limb_count)
    assert ring.ints(ring.engine.reduce(limbs, ring.modulus)) == [value % ring.n for value in wide]


def test_mod_mul(ring: Ring) -> None:
    """All with all, and one with all: more groups than a block has."""
    a = ring.load(ring.values)
    count = len(ring.values)
    products = ring.engine.mod_mul(ring.engine.reshape(a, (count, 1)), a)
    assert ring.ints(products) == [x * y % ring.n for x in ring.values for y in ring.values]
    last = ring.load(ring.values[-1:])
    assert ring.ints(ring.engine.mod_mul(last, a)) == [x * ring.values[-1] % ring.n for x in ring.values]


@pytest.mark.long
def test_mod_mul_one_plus(ring: Ring) -> None:
    if ring.modulus.root is None:
        pytest.skip("only where the modulus is a square")
    factors = [ring.below(ring.root) for _ in ring.values[:-2]] + [0, ring.root - 1]
    limbs = limbs_from_ints(factors, -(-ring.root.bit_length() // 64))
    found = ring.engine.mod_mul_one_plus(ring.load(ring.values), limbs)
    assert ring.ints(found) == [x * (1 + v * ring.root) % ring.n for x, v in zip(ring.values, factors, strict=True)]


@pytest.mark.long
@pytest.mark.parametrize("operation", ["mod_exp", "mod_exp_vartime"])
def test_mod_exp(ring: Ring, operation: str) -> None:
    numbers, exponents = ring.exponents(64, len(ring.values))
    found = getattr(ring.engine, operation)(ring.load(ring.values), exponents)
    assert ring.ints(found) == [pow(x, e, ring.n) for x, e in zip(ring.values, numbers, strict=True)]


@pytest.mark.long
@pytest.mark.parametrize("constant_time", [True, False])
def test_mod_exp_fixed(ring: Ring, constant_time: bool) -> None:
    base = ring.values[-1]
    limbs = limbs_from_ints([base], ring.modulus.limb_count)[0]
    table = ring.engine.fixed_base_table(limbs, ring.modulus, 21, 4, constant_time=constant_time)
    numbers, exponents = ring.exponents(21, 6)
    assert ring.ints(ring.engine.mod_exp_fixed(table, exponents)) == [pow(base, e, ring.n) for e in numbers]


def test_mod_product(ring: Ring) -> None:
    a = ring.engine.reshape(ring.load(ring.values[-12:]), (3, 4))
    rows = np.array(ring.values[-12:], object).reshape(3, 4)
    assert ring.ints(ring.engine.mod_product(a, 0)) == [int(np.prod(column)) % ring.n for column in rows.T]
    assert ring.ints(ring.engine.mod_product(a, 1)) == [int(np.prod(row)) % ring.n for row in rows]


@pytest.mark.long
def test_mod_multi_exp(ring: Ring) -> None:
    bases = ring.values[-5:]
    columns = np.array([[ring.below(1 << 9) for _ in range(3)] for _ in bases], object)
    exponents = limbs_from_ints(columns.ravel().tolist(), 1).reshape(5, 3, 1)
    expected = [
        int(np.prod([pow(x, int(e), ring.n) for x, e in zip(bases, c, strict=True)])) % ring.n for c in columns.T
    ]
    assert ring.ints(ring.engine.mod_multi_exp(ring.load(bases), exponents)) == expected


def test_mod_segment_product(ring: Ring) -> None:
    segments = np.array([2, 0, 2, 2, 0, 4, 2], np.int64)
    values = ring.values[-7:]
    found = ring.engine.mod_segment_product(ring.load(values), segments, 5)
    expected = [
        int(np.prod(np.array([x for x, s in zip(values, segments, strict=True) if s == k], object))) % ring.n
        for k in range(5)
    ]
    assert ring.ints(found) == expected


@pytest.mark.long
def test_mod_inv(ring: Ring) -> None:
    values = [x for x in ring.values if np.gcd(x, ring.n) == 1] if ring.n < 1 << 62 else ring.values[1:3]
    found = ring.ints(ring.engine.mod_inv(ring.load(values)))
    assert [x * y % ring.n for x, y in zip(values, found, strict=True)] == [1] * len(values)
