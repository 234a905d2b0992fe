"""Scratch under its share of the memory cap: results as without it, and the process grows no further than it says."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

from hekat.engine.cpu import CpuEngine, usable_paths
from hekat.engine.interface import Modulus
from hekat.engine.limbs import LimbArray, limbs_from_ints
from hekat.engine.sparse_exponents import SparseExponents
from hekat.errors import InputError

SEED = 20261122
MODULUS = Modulus((1 << 521) - 1)
COUNT = 3000  # above the least cap's bytes of inverses and of running products, on every path


@pytest.fixture(params=usable_paths())
def engines(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> tuple[CpuEngine, CpuEngine]:
    """One of the least cap, and one of the default."""
    monkeypatch.setenv("HEKAT_TABLE_MIB", "1")
    small = CpuEngine(2, path=request.param)
    monkeypatch.delenv("HEKAT_TABLE_MIB")
    ample = CpuEngine(2, path=request.param)
    assert small._table_memory.scratch_bytes == 1 << 17 < COUNT * 64 * 2
    assert ample._table_memory.scratch_bytes == 1 << 26
    return small, ample


def units() -> LimbArray:
    limbs = np.random.default_rng(SEED).integers(1, 2**64, (COUNT, MODULUS.limb_count), np.uint64)
    limbs[:, -1] = 1
    return limbs


def test_inverses_are_the_same_and_the_first_without_one_is_named(engines: tuple[CpuEngine, CpuEngine]) -> None:
    limbs = units()
    stored = [engine.store(engine.mod_inv(engine.load(limbs, MODULUS))) for engine in engines]
    assert np.array_equal(*stored)
    one = engines[0].mod_mul(engines[0].load(stored[0], MODULUS), engines[0].load(limbs, MODULUS))
    assert np.array_equal(engines[0].store(one), limbs_from_ints([1] * COUNT, MODULUS.limb_count))
    limbs[[COUNT - 2, COUNT - 700]] = 0
    for engine in engines:
        with pytest.raises(InputError, match=f"index {COUNT - 700} has no inverse"):
            engine.mod_inv(engine.load(limbs, MODULUS))


@pytest.mark.quick_values
@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("signed", [False, True])
def test_products_of_powers_are_the_same(engines: tuple[CpuEngine, CpuEngine], signed: bool, sparse: bool) -> None:
    rng, results = np.random.default_rng([SEED, signed]), 3
    limbs = units()
    exponents = rng.integers(0, 2**24, (COUNT, results, 1), np.uint64)
    negative = rng.random((COUNT, results)) < 0.5 if signed else None
    stored = []
    for engine in engines:
        a = engine.load(limbs, MODULUS)
        if not sparse:
            stored.append(engine.store(engine.mod_multi_exp(a, exponents, negative)))
            continue
        by_result = np.moveaxis(exponents, 1, 0).reshape(-1, 1)
        columns, offsets = np.tile(np.arange(COUNT), results), np.arange(results + 1) * COUNT
        signs = None if negative is None else np.ascontiguousarray(negative.T).ravel()
        rows = SparseExponents(np.ascontiguousarray(by_result), columns, offsets, signs)
        stored.append(engine.store(engine.mod_multi_exp(a, rows)))
    assert np.array_equal(*stored)


def test_a_minus_sign_without_inverse_is_named_from_whichever_slice(engines: tuple[CpuEngine, CpuEngine]) -> None:
    limbs = units()
    limbs[[10, COUNT - 5]] = 0
    negative = np.zeros((COUNT, 1), np.bool_)
    negative[[3, COUNT - 5]] = True  # none at 10
    exponents = np.full((COUNT, 1, 1), 77, np.uint64)
    for engine in engines:
        with pytest.raises(InputError, match=f"index {COUNT - 5} has no inverse"):
            engine.mod_multi_exp(engine.load(limbs, MODULUS), exponents, negative)


GROWTH = """
import os, resource
os.environ["HEKAT_TABLE_MIB"] = "16"
import numpy as np
from hekat.engine.cpu import CpuEngine
from hekat.engine.interface import Modulus

def peak():
    return next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith("VmHWM")) / 1024

engine, modulus, count = CpuEngine(2), Modulus((1 << 2048) - 1), 150_000
limbs = np.ones((count, 1), np.uint64)
a = engine.load(limbs, modulus)
row_mib = a.data.nbytes / 2**20
before = peak()
{operation}
print(row_mib, peak() - before)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="reads Linux' figures of a process")
@pytest.mark.parametrize(
    ("operation", "outputs"),
    [
        ("engine.mod_inv(a)", 1),
        ("engine.mod_multi_exp(a, np.full((count, 1, 1), 5, np.uint64), np.ones((count, 1), bool))", 0),
    ],
)
def test_a_process_grows_by_its_result_and_the_cap(operation: str, outputs: int) -> None:
    script = GROWTH.format(operation=operation)
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    row_mib, grown_mib = map(float, done.stdout.split())
    assert row_mib > 32
    assert grown_mib < outputs * row_mib + 12  # an eighth of 16, and what does not grow with the input
