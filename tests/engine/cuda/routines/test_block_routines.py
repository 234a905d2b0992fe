"""Blocks of threads as block.cuh has them: the emulation shows what depends on the order of threads, PTX agrees.

Compiled for the emulation, and for the GPU where there is a compiler for it: then its PTX is executed.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.engine.cuda.emulation.device import EmulatedDevice, build
from tests.engine.cuda.ptx.compile import compile_entries
from tests.engine.cuda.ptx.device import run

SOURCE = Path(__file__).parent / "block_routines.cu"
DEVICE = EmulatedDevice()
Run = Callable[[str, int, int, Sequence[Any]], None]


def in_emulation(name: str, block_count: int, threads: int, parameters: Sequence[Any]) -> None:
    values = [x.ctypes.data if isinstance(x, np.ndarray) else x for x in parameters]
    launch = (ctypes.c_uint64(n) for n in (block_count, threads, 4 * threads))
    getattr(build(str(SOURCE.with_suffix("")), ()), f"run_{name}")(*launch, (ctypes.c_uint64 * len(values))(*values))


def in_ptx(name: str, block_count: int, threads: int, parameters: Sequence[Any]) -> None:
    run(compile_entries(SOURCE, ())[name], block_count, threads, 4 * threads, parameters)


@pytest.fixture(params=[in_emulation, in_ptx])
def launch(request: pytest.FixtureRequest) -> Run:
    return request.param


def test_what_one_phase_writes_the_next_one_reads(launch: Run) -> None:
    out = DEVICE.empty((3, 64), np.uint32)
    launch("read_next", 3, 64, [out])
    expected = 7 * np.roll(np.arange(64), -1) + 1
    assert (out.view(np.ndarray) == expected).all()


def test_the_emulation_shows_what_depends_on_the_order_of_threads() -> None:
    out = DEVICE.empty((2, 64), np.uint32)
    in_emulation("read_next_too_early", 2, 64, [out])
    first, second = out.view(np.ndarray)
    assert (first != second)[1:-1].all()


def test_executed_ptx_refuses_what_depends_on_the_order_of_threads() -> None:
    with pytest.raises(ValueError, match="barrier"):
        in_ptx("read_next_too_early", 1, 64, [DEVICE.empty((1, 64), np.uint32)])


@pytest.mark.parametrize("flags", [0, 1, 0x8000000000000000, 0x5555555555555555, 0x0102030405060708])
def test_flags_of_all_threads_are_seen_by_all(launch: Run, flags: int) -> None:
    out = DEVICE.empty((2, 32), np.uint32)
    launch("gather_flags", 2, 32, [out, flags])
    seen = 0
    for thread in range(32):
        seen |= flags >> 2 * thread & 3
    assert (out.view(np.ndarray) == seen).all()


def test_routines_that_differ_are_the_same(launch: Run) -> None:
    ends = [0, 1, 2, 2**31, 2**32 - 1, 2**32, 2**63 - 1, 2**63, 2**64 - 2**32, 2**64 - 1]
    rng = np.random.default_rng(3)
    a = np.array([x for x in ends for _ in ends] + rng.integers(0, 2**64, 60, np.uint64).tolist(), np.uint64)
    b = np.array(ends * len(ends) + rng.integers(0, 2**64, 60, np.uint64).tolist(), np.uint64)
    out = DEVICE.empty((len(a), 4), np.uint64)
    launch("try_routines", 2, 128, [out, DEVICE.upload(a), DEVICE.upload(b), len(a)])
    for x, y, found in zip(a.tolist(), b.tolist(), out.view(np.ndarray).tolist(), strict=True):
        low, bits = x % 2**32, 1 + y % 31
        rotated = (low << bits | low >> 32 - bits) % 2**32
        assert found == [x * y >> 64, rotated, low.bit_count(), x >> (y & 31)]
