"""The chains of carries as the compiler writes them for the GPU, beside their contracts and their twins in C++.

The compiler's PTX is executed here: it is what ptxas turns into the GPU's instructions.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.engine.cuda.emulation.device import EmulatedArray, EmulatedDevice, build
from tests.engine.cuda.ptx.compile import compile_entries
from tests.engine.cuda.ptx.device import run

SOURCE = Path(__file__).parent / "carry_routines.cu"
PARTS = 7
WORD = 1 << 32
EDGES = (0, 1, 2, 0x7FFFFFFF, 0x80000000, 0x80000001, 0xFFFF0000, 0xFFFFFFFE, 0xFFFFFFFF)
LIMBS = (2, 4, 8, 16)


def join(words: list[int]) -> int:
    return sum(word << 32 * i for i, word in enumerate(words))


def split(value: int, count: int) -> list[int]:
    return [value >> 32 * i & WORD - 1 for i in range(count)]


# --- the contracts, on Python integers: x, y, z and four more words in, the same out ---------------------------

Words = list[int]


def multiply_add(x: Words, y: Words, z: Words, b: int, top: int, third: int, fourth: int) -> tuple[Any, ...]:
    total = join(x) + sum(y[i] * b << 32 * i for i in range(0, len(y), 2))
    return split(total, len(x)), y, z, b, (top + (total >> 32 * len(x))) % WORD, third, fourth


def multiply_add_over(x: Words, y: Words, z: Words, b: int, over: int, top: int, fourth: int) -> tuple[Any, ...]:
    total = join(x) + sum(y[i] * b << 32 * i for i in range(0, len(y), 2))
    over += total >> 32 * len(x)
    return split(total, len(x)), y, z, b, over % WORD, (top + over // WORD) % WORD, fourth


def shift_multiply_add(x: Words, y: Words, z: Words, first: int, b: int, incoming: int, top: int) -> tuple[Any, ...]:
    first += x[1]
    total = join([*x[2:], incoming, top]) + first // WORD + sum(y[i] * b << 32 * i for i in range(0, len(y), 2))
    return split(total, len(x)), y, z, first % WORD, b, incoming, total >> 32 * len(x)


def add_limbs(x: Words, y: Words, z: Words, carry: int, second: int, third: int, fourth: int) -> tuple[Any, ...]:
    total = join(x) + join(y) + carry
    return x, y, split(total, len(x)), carry, total >> 32 * len(x), third, fourth


def add_word(x: Words, y: Words, z: Words, word: int, second: int, third: int, fourth: int) -> tuple[Any, ...]:
    total = join(x) + word
    return split(total, len(x)), y, z, word, total >> 32 * len(x), third, fourth


ROUTINES: dict[str, Callable[..., tuple[Any, ...]]] = {
    "multiply_add": multiply_add,
    "multiply_add_over": multiply_add_over,
    "shift_multiply_add": shift_multiply_add,
    "add_limbs": add_limbs,
    "add_word": add_word,
}


# --- cases ------------------------------------------------------------------------------------------------------


def make_cases(limbs: int, routine: str) -> Any:
    """Rows of PARTS numbers: every number all of one edge word, single words among edges, mixed, and random."""
    rng = np.random.default_rng([limbs, len(routine)])
    rows = []
    for _ in range(240):
        kind = rng.integers(4)
        row = np.zeros((PARTS, limbs), np.uint64)
        for part in range(PARTS):
            if kind == 0:
                row[part] = rng.choice(EDGES)
            elif kind == 1:
                row[part] = rng.choice((0, WORD - 1))
                row[part, rng.integers(limbs)] = rng.choice(EDGES)
            elif kind == 2:
                row[part] = rng.choice(EDGES, limbs)
            else:
                row[part] = rng.integers(0, WORD, limbs, np.uint64)
        rows.append(row)
    # All ones everywhere: the largest carries there are; and a carry that runs through all words.
    rows += [np.full((PARTS, limbs), WORD - 1), np.array([[WORD - 1] * limbs, *[[1] + [0] * (limbs - 1)] * 6])]
    cases = np.array(rows, np.uint32)
    cases[:, 3:, 1:] = 0
    if routine == "add_limbs":
        cases[:, 3, 0] &= 1
    return cases


def expected_of(cases: Any, routine: str) -> Any:
    result = np.zeros_like(cases)
    for row, out in zip(cases.tolist(), result, strict=True):
        x, y, z, *words = ROUTINES[routine](*row[:3], *(part[0] for part in row[3:]))
        out[:3] = [x, y, z]
        out[3:, 0] = words
    return result


def run_in_ptx(entry: Any, cases: Any) -> Any:
    array = EmulatedDevice().upload(cases)
    run(entry, -(-len(cases) // 128), 128, 0, [array, len(cases)])
    return array.view(np.ndarray)


def options_of(limbs: int) -> tuple[str, ...]:
    return ("-DHEKAT_THREADS=1", f"-DHEKAT_LIMBS={limbs}")


@pytest.mark.quick_values
@pytest.mark.parametrize("limbs", LIMBS)
@pytest.mark.parametrize("routine", ROUTINES)
def test_the_ptx_keeps_the_contract(routine: str, limbs: int) -> None:
    cases = make_cases(limbs, routine)
    found = run_in_ptx(compile_entries(SOURCE, options_of(limbs))[f"case_{routine}"], cases)
    np.testing.assert_array_equal(found, expected_of(cases, routine))


@pytest.mark.quick_values
@pytest.mark.parametrize("limbs", LIMBS)
@pytest.mark.parametrize("routine", ROUTINES)
def test_the_twin_keeps_the_contract(routine: str, limbs: int) -> None:
    cases = make_cases(limbs, routine)
    array = EmulatedDevice().upload(cases)
    assert isinstance(array, EmulatedArray)
    words = (ctypes.c_uint64 * 2)(array.ctypes.data, len(cases))
    library = build(str(SOURCE.with_suffix("")), options_of(limbs))
    getattr(library, f"run_case_{routine}")(ctypes.c_uint64(len(cases)), words)
    np.testing.assert_array_equal(array.view(np.ndarray), expected_of(cases, routine))


@pytest.mark.parametrize("routine", ROUTINES)
def test_every_flag_set_or_read_matters(routine: str) -> None:
    """Each instruction of a chain, made to forget one carry, makes some case wrong: the cases reach all of them."""
    limbs = 4
    cases = make_cases(limbs, routine)
    expected = expected_of(cases, routine)
    entry = compile_entries(SOURCE, options_of(limbs))[f"case_{routine}"]
    chain = [i for i, one in enumerate(entry.instructions) if one.opcode[0] in ("addc", "madc")]
    assert len(chain) >= limbs
    for at in chain:
        changed = list(entry.instructions)
        opcode = changed[at].opcode
        changed[at] = _replace(changed[at], (opcode[0].removesuffix("c"), *opcode[1:]))
        found = run_in_ptx(_replace_instructions(entry, changed), cases)
        assert not np.array_equal(found, expected), f"nothing reads the carry into {changed[at].text}"


def _replace(instruction: Any, opcode: tuple[str, ...]) -> Any:
    return type(instruction)(opcode, instruction.operands, instruction.predicate, instruction.text)


def _replace_instructions(entry: Any, instructions: list[Any]) -> Any:
    return type(entry)(entry.name, entry.parameters, tuple(instructions), entry.labels, entry.shared)
