"""Every engine in turn, and the numbers the conformance cases are made of."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest
from tests.engine.cuda.emulation.device import EmulatedDevice

from hekat.engine.cuda.engine import CudaEngine
from hekat.engine.interface import Engine, Modulus, ResidueArray
from hekat.engine.limbs import LimbArray, ints_from_limbs, limbs_for_bits, limbs_from_ints
from hekat.engine.select import READY, available_engines, get_engine
from hekat.engine.spread.engine import SpreadEngine

ENGINES = [name for name, state in available_engines().items() if state == READY]
if "cpu" in ENGINES:
    from hekat.engine.cpu import CpuEngine, usable_paths

    ENGINES.remove("cpu")
    ENGINES += [f"cpu-{path}" for path in usable_paths()]
EMULATED = "cuda-emulated"
QUICK_BITS, KEY_BITS, LARGEST_BITS = 700, 2200, 8192
ENGINES.append(EMULATED)
if "cpu-portable" in ENGINES:
    ENGINES.append("spread")


@cache
def make_engine(name: str) -> Engine:
    """The engine `name`; the native one on the path named, with more threads than the default here."""
    if name.startswith("cpu-"):
        return CpuEngine(3, path=name.removeprefix("cpu-"))
    if name == "spread":
        # Batches of two and more are cut.
        members = [CpuEngine(1, path="portable"), CpuEngine(2)]
        return SpreadEngine(members, least_work=1, least_chunks=2)
    if name == EMULATED:
        return CudaEngine(EmulatedDevice())
    return get_engine(name)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """What the slower engines are spared.

    The spread engine adds no arithmetic to its members': it is spared the numbers that carries are found with, and of
    the long runs it has that over all shapes. Emulated kernels take their time, and are built for each size: the quick
    run has the small moduli, the long one of the structured numbers those up to the size of keys.
    """
    spared = []
    for item in items:
        params = item.callspec.params if isinstance(item, pytest.Function) and hasattr(item, "callspec") else {}
        size = max((value for value in params.values() if isinstance(value, int)), default=0)
        is_long = item.get_closest_marker("long") is not None
        is_structured = item.path.parent.name == "structured"
        if params.get("engine") == "spread":
            if is_structured or item.path.stem == "test_square_moduli" or (is_long and "fuzzed" not in item.path.stem):
                spared.append(item)
        elif params.get("engine") == EMULATED and item.path.parent.name != "ring":
            if is_long and size > (KEY_BITS if is_structured else LARGEST_BITS):
                spared.append(item)
            elif size > QUICK_BITS:
                item.add_marker(pytest.mark.long)
    config.hook.pytest_deselected(items=spared)
    left_out = set(spared)
    items[:] = [item for item in items if item not in left_out]


@pytest.fixture(params=ENGINES)
def engine(request: pytest.FixtureRequest) -> Engine:
    """Each engine that is ready, the native one on every path; `test_every_engine_is_ready` fails where one is not."""
    return make_engine(request.param)


class Numbers:
    """Python integers in object arrays (the oracle's form), and their way into and out of limbs."""

    @staticmethod
    def modulus(bits: int, kind: str, seed: int = 0) -> Modulus:
        """An odd modulus of exactly `bits` bits: all ones, two ones (sparse), or random."""
        top = 1 << (bits - 1)
        if kind == "ones":
            return Modulus(2 * top - 1)
        if kind == "sparse":
            return Modulus(top + 1)
        return Modulus(top | Numbers.random_int(bits, seed) | 1)

    @staticmethod
    def random_int(bits: int, seed: int) -> int:
        return int.from_bytes(np.random.default_rng([bits, seed]).bytes(-(-bits // 8)), "little") % (1 << bits)

    @staticmethod
    def patterns(modulus: Modulus, seed: int = 0) -> list[int]:
        """Residues that carry bugs are found with: ends, single bits and all-ones runs at limb edges, random."""
        n, bits = modulus.value, modulus.bits
        edges = sorted({b for k in (26, 32, 51, 52, 53, 63, 64, 65, 104, 128, bits - 1) for b in (k,) if b < bits})
        values = [0, 1, 2, n - 1, n - 2, n // 2, n // 2 + 1, n >> 1 ^ n, (1 << bits) % n]
        values += [1 << edge for edge in edges] + [(1 << edge) - 1 for edge in edges]
        values += [n - (1 << edge) for edge in edges] + [(1 << bits - 1) - (1 << edge) for edge in edges]
        values += [sum(1 << b for b in range(0, bits - 1, step)) for step in (2, 52, 64)]
        values += [Numbers.random_int(bits, seed + i) for i in range(4)]
        return [value % n for value in values]

    @staticmethod
    def residues(modulus: Modulus, shape: tuple[int, ...], seed: int = 0) -> Any:
        """The patterns and random residues in turn, as an object array of `shape`."""
        count = int(np.prod(shape))
        patterns = Numbers.patterns(modulus, seed)
        values = [
            patterns[(i * 7 + seed) % len(patterns)] if i % 3 else Numbers.random_int(modulus.bits, seed + i)
            for i in range(count)
        ]
        return Numbers.objects([value % modulus.value for value in values], shape)

    @staticmethod
    def objects(values: list[int], shape: tuple[int, ...]) -> Any:
        array = np.empty(len(values), object)
        array[:] = values
        return array.reshape(shape)

    @staticmethod
    def limbs(values: Any, limb_count: int) -> LimbArray:
        values = np.asarray(values, object)
        return limbs_from_ints(values.ravel().tolist(), limb_count).reshape(*values.shape, limb_count)

    @staticmethod
    def ints(limbs: LimbArray) -> Any:
        assert limbs.dtype == np.uint64
        return Numbers.objects(ints_from_limbs(limbs), limbs.shape[:-1])

    @staticmethod
    def load(engine: Engine, values: Any, modulus: Modulus) -> ResidueArray:
        return engine.load(Numbers.limbs(values, modulus.limb_count), modulus)

    @staticmethod
    def store(a: ResidueArray) -> Any:
        """The residues as an object array; the stored form is checked to be the canonical one."""
        limbs = a.engine.store(a)
        assert limbs.shape == (*a.shape, a.modulus.limb_count)
        return Numbers.ints(limbs)

    @staticmethod
    def power(bases: Any, exponents: Any, n: int) -> Any:
        """The oracle's power, shapes broadcast."""
        return np.frompyfunc(lambda a, e: pow(a, e, n), 2, 1)(bases, exponents)

    @staticmethod
    def same(found: Any, expected: Any) -> None:
        """Assert equal shape and equal integers."""
        expected = np.asarray(expected, object)
        assert found.shape == expected.shape
        assert found.ravel().tolist() == expected.ravel().tolist()

    limbs_for_bits = staticmethod(limbs_for_bits)


@pytest.fixture(scope="session")
def numbers() -> type[Numbers]:
    return Numbers
