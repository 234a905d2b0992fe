"""Sums and rows of products over a group of threads: carries that run through threads whose limbs are all ones.

Compiled for the emulation, and for the GPU where there is a compiler for it: then its PTX is executed.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.engine.cuda.emulation.device import EmulatedDevice, build
from tests.engine.cuda.ptx.compile import compile_entries
from tests.engine.cuda.ptx.device import run

SOURCE = Path(__file__).parent / "number_routines.cu"
LAYOUTS = ((1, 2), (2, 2), (4, 6), (8, 2), (16, 4), (32, 2))
# Those whose PTX is executed in every run of the tests.
QUICK = ("1x2", "4x6")
Case = tuple[int, int, int, int]
WORD = 1 << 32


def in_emulation(name: str, threads: int, limbs: int, cases: Any) -> Any:
    array = EmulatedDevice().upload(cases)
    words = (ctypes.c_uint64 * 2)(array.ctypes.data, len(cases))
    library = build(str(SOURCE.with_suffix("")), _options(threads, limbs))
    getattr(library, f"run_{name}")(ctypes.c_uint64(len(cases)), words)
    return array.view(np.ndarray)


def in_ptx(name: str, threads: int, limbs: int, cases: Any) -> Any:
    array = EmulatedDevice().upload(cases)
    entry = compile_entries(SOURCE, _options(threads, limbs))[name]
    run(entry, -(-len(cases) * threads // 128), 128, 0, [array, len(cases)])
    return array.view(np.ndarray)


def _options(threads: int, limbs: int) -> tuple[str, ...]:
    return (f"-DHEKAT_THREADS={threads}", f"-DHEKAT_LIMBS={limbs}")


ROUTES = [
    pytest.param((run, layout), id=f"{name}-{layout[0]}x{layout[1]}", marks=[pytest.mark.long] if is_long else [])
    for name, run in (("emulation", in_emulation), ("ptx", in_ptx))
    for layout in LAYOUTS
    for is_long in (name == "ptx" and f"{layout[0]}x{layout[1]}" not in QUICK,)
]


@pytest.fixture(params=ROUTES)
def route(request: pytest.FixtureRequest) -> Any:
    """How cases are run, and the layout that they are of."""
    return request.param


@pytest.fixture
def run_cases(route: Any) -> Any:
    return route[0]


class Shape:
    """Threads of `limbs` words: numbers by thread, words into rows and back."""

    def __init__(self, threads: int, limbs: int) -> None:
        self.threads, self.limbs = threads, limbs
        self.thread = 1 << 32 * limbs
        self.R = self.thread**threads
        self.rng = np.random.default_rng([threads, limbs])

    def by_thread(self, parts: Any) -> int:
        return sum(int(part) * self.thread**t for t, part in enumerate(parts))

    def random(self, below: int) -> int:
        return int.from_bytes(self.rng.bytes(below.bit_length() // 8 + 9), "little") % below

    def numbers(self, count: int) -> Iterator[int]:
        """Numbers whose threads hold 0, 1, all ones, all but the lowest one, or anything."""
        edges = (0, 1, self.thread - 1, self.thread - 2, self.thread >> 1)
        for _ in range(count):
            yield self.by_thread(
                edges[pick] if pick < len(edges) else self.random(self.thread)
                for pick in self.rng.integers(0, len(edges) + 1, self.threads)
            )

    def moduli(self) -> list[int]:
        """Odd ones of full size: all ones, two ones, just above half of R, and a random one."""
        return [
            self.R - 1,
            self.R // 2 + 1,
            self.R // 2 + self.R // 4 + 1,
            self.R - self.random(self.R // 2) // 2 * 2 - 1,
        ]

    def pack(self, cases: list[Case]) -> Any:
        rows = [b"".join(number.to_bytes(4 * self.threads * self.limbs, "little") for number in case) for case in cases]
        return np.frombuffer(b"".join(rows), np.uint32).reshape(len(cases), 4, self.threads * self.limbs)

    def unpack(self, rows: Any) -> list[Case]:
        return [tuple(int.from_bytes(part.tobytes(), "little") for part in row) for row in rows]


def check(run_cases: Any, name: str, shape: Shape, cases: list[Case], oracle: Callable[..., Case]) -> None:
    found = shape.unpack(run_cases(name, shape.threads, shape.limbs, shape.pack(cases)))
    for case, got in zip(cases, found, strict=True):
        assert got == oracle(*case), f"{name} of {[hex(part) for part in case]}"


@pytest.fixture
def shape(route: Any) -> Shape:
    return Shape(*route[1])


def test_settle_carries(run_cases: Any, shape: Shape) -> None:
    """Every set of threads that pass a carry on, up to 4 of them; for more, runs of them and random ones."""
    ones = shape.thread - 1
    if shape.threads <= 4:
        patterns = [list(each) for each in product((0, 1, 2), repeat=shape.threads)]
    else:
        patterns = [[1 if i in range(a, b) else 2 * (i == a - 1) for i in range(shape.threads)]
                    for a in range(shape.threads) for b in range(a, shape.threads + 1)]  # fmt: skip
        patterns += shape.rng.integers(0, 3, (200, shape.threads)).tolist()
    # 0: no carry, 1: all ones, so no carry of its own; 2: a carry out of limbs that are not all ones.
    cases = []
    for pattern, carry_in in product(patterns, (0, 1)):
        limbs = [ones if kind == 1 else (ones - 1, 0, shape.random(ones))[shape.rng.integers(3)] for kind in pattern]
        cases.append((shape.by_thread(limbs), shape.by_thread(kind == 2 for kind in pattern), carry_in, 0))

    def oracle(x: int, carries: int, carry_in: int, _: int) -> Case:
        total = x + carries * shape.thread + carry_in
        return total % shape.R, carries, carry_in, total // shape.R

    check(run_cases, "case_settle_carries", shape, cases, oracle)


def test_add(run_cases: Any, shape: Shape) -> None:
    numbers = [0, shape.R - 1, 1, *shape.numbers(40)]
    cases = [(x, y, c, 0) for x in numbers[::3] for y in numbers for c in (0, 1)]
    cases += [(x, shape.R - 1 - x, c, 0) for x in numbers for c in (0, 1)]  # all ones: every thread passes on

    def oracle(x: int, y: int, carry_in: int, _: int) -> Case:
        total = x + y + carry_in
        return total % shape.R, y, carry_in, total // shape.R

    check(run_cases, "case_add", shape, cases, oracle)


def test_subtract_once(run_cases: Any, shape: Shape) -> None:
    """At the modulus, one beside it, at its double and at R, where the word above decides."""
    cases = []
    for n in shape.moduli():
        values = [0, 1, n - 1, n, n + 1, 2 * n - 1, 2 * n - 2, shape.R - 1, shape.R, shape.R + 1]
        values += [shape.random(2 * n) for _ in range(8)]
        cases += [(v % shape.R, shape.R - 1 - n, v // shape.R, 0) for v in values if v < 2 * n]

    def oracle(a: int, minus_modulus: int, high: int, _: int) -> Case:
        n, value = shape.R - 1 - minus_modulus, high * shape.R + a
        return value - n if value >= n else value, minus_modulus, high, int(value >= n)

    check(run_cases, "case_subtract_once", shape, cases, oracle)


def test_products_by_rows(run_cases: Any, shape: Shape) -> None:
    numbers = [0, 1, shape.R - 1, *shape.numbers(30)]
    cases = [(x, y, 0, 0) for x in numbers[:6] for y in numbers]

    def oracle(x: int, y: int, _z: int, _w: int) -> Case:
        return x, y, x * y % shape.R, x * y // shape.R

    check(run_cases, "case_multiply_by_rows", shape, cases, oracle)


def test_division_by_rows(run_cases: Any, shape: Shape) -> None:
    """Largest factors, x up to R - 1 and y up to n - 1; and products whose quotient is all ones, or 0."""
    cases = []
    for n in shape.moduli():
        some = [0, 1, n - 1, n // 2, *(x % n for x in shape.numbers(6))]
        cases += [(x, y, 0, n) for x in [shape.R - 1, *some] for y in some]
        # m = -x y / n mod R for y = 1.
        cases += [(-m * n % shape.R, 1, 0, n) for m in (shape.R - 1, 1, shape.thread - 1)]

    def oracle(x: int, y: int, _: int, n: int) -> Case:
        m = -x * y * pow(n, -1, shape.R) % shape.R
        total = (x * y + m * n) // shape.R
        assert total < 2 * n
        return m, total // shape.R, total % shape.R, n

    check(run_cases, "case_divide_by_rows", shape, cases, oracle)
