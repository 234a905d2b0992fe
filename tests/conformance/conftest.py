"""Every engine, and the numbers the conformance cases are made of."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import gmpy2
import numpy as np
import pytest
from tests.conformance.every_engine import EveryEngine
from tests.engine.cuda.emulation.device import EmulatedDevice

from hekat.engine.cuda.engine import CudaEngine
from hekat.engine.cuda.layout import layout_for
from hekat.engine.interface import Engine, Modulus, ResidueArray
from hekat.engine.limbs import LimbArray, ints_from_limbs, limbs_for_bits, limbs_from_ints
from hekat.engine.select import READY, available_engines, get_engine
from hekat.engine.spread.engine import SpreadEngine

HERE = Path(__file__).parent
ENGINES = [name for name, state in available_engines().items() if state == READY]
# What the others are held against.
ENGINES.sort(key=lambda name: name != "reference")
if "cpu" in ENGINES:
    from hekat.engine.cpu import CpuEngine, usable_paths

    ENGINES.remove("cpu")
    ENGINES += [f"cpu-{path}" for path in usable_paths()]
EMULATED = "cuda-emulated"
ENGINES.append(EMULATED)
if "cpu-portable" in ENGINES:
    ENGINES.append("spread")

# What the quick run emulates: groups of one thread and of two, by the limbs that each thread holds. Each has kernels of
# its own to build.
QUICK_LAYOUTS = {(1, 2), (1, 4), (1, 6), (1, 16), (2, 10)}
# What the long run emulates, of structured numbers and of others.
KEY_BITS, LARGEST_BITS = 2200, 8192
# The engines' times in a long item add up.
LONG_LIMIT_S = 1200


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


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--engines", help="only engines whose names begin like one of these: cpu,cuda:0")


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "size_bits(bits): the modulus' size, or its root's where that is known")
    config.addinivalue_line("markers", "not_emulated: without the emulated engine")
    config.addinivalue_line("markers", "reference_apart: the reference has an item of its own, with fewer cases")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "each_engine" in metafunc.fixturenames:
        metafunc.parametrize("each_engine", chosen(ENGINES, metafunc.config), indirect=True)
    elif "engine" in metafunc.fixturenames:
        is_apart = metafunc.definition.get_closest_marker("reference_apart") or is_of_rings(metafunc.definition)
        metafunc.parametrize("engine", ["reference", "others"] if is_apart else ["every", EMULATED], indirect=True)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave one item for all engines, and where it does without the emulated one, a long item for that alone."""
    kept = []
    for item in items:
        which = item.callspec.params.get("engine") if hasattr(item, "callspec") else None
        if which == EMULATED and HERE in item.path.parents:
            if EMULATED in members_of_every(item) or not is_emulated_at_all(item):
                continue
            item.add_marker(pytest.mark.long)
        elif which is not None and item.get_closest_marker("long"):
            item.add_marker(pytest.mark.timeout(LONG_LIMIT_S))
        kept.append(item)
    items[:] = kept


def is_of_rings(item: pytest.Item) -> bool:
    return item.path.parent.name == "ring"


def size_of(item: pytest.Item) -> int:
    """The bits of what an item computes with: its marker's, else those of its parameter."""
    marker = item.get_closest_marker("size_bits")
    params = item.callspec.params
    sizes = [marker.args[0]] if marker else [params[name] for name in ("bits", "root_bits") if name in params]
    if not sizes:
        raise pytest.UsageError(f"{item.nodeid}: a case says the size of its modulus; give it the marker size_bits")
    return int(sizes[0])


def is_emulated_at_all(item: pytest.Item) -> bool:
    if item.get_closest_marker("not_emulated"):
        return False
    return size_of(item) <= (KEY_BITS if item.path.parent.name == "structured" else LARGEST_BITS)


def members_of_every(item: pytest.Item) -> list[str]:
    """The engines that an item for every engine runs on: all but what the slower ones are spared.

    The spread engine adds no arithmetic to its members': it is spared the numbers that carries are found with, and of
    the long runs it has that over all shapes. Emulated kernels take their time, and are built for each size: the quick
    run has few.
    """
    is_long = item.get_closest_marker("long") is not None
    if is_of_rings(item):
        return list(ENGINES)
    spared = set()
    no_spread = item.path.parent.name == "structured" or item.path.stem == "test_square_moduli"
    if no_spread or (is_long and "fuzzed" not in item.path.stem):
        spared.add("spread")
    layout = layout_for(size_of(item), pairs=False)
    if not is_emulated_at_all(item) or not (is_long or (layout.threads, layout.limbs) in QUICK_LAYOUTS):
        spared.add(EMULATED)
    return [name for name in ENGINES if name not in spared]


def chosen(names: list[str], config: pytest.Config) -> list[str]:
    """Those of the engines that the command line asks for."""
    wanted = config.getoption("--engines", None)
    return names if not wanted else [name for name in names if name.startswith(tuple(wanted.split(",")))]


def in_step(names: list[str], config: pytest.Config) -> EveryEngine:
    members = {name: make_engine(name) for name in chosen(names, config)}
    if not members:
        pytest.skip("none of its engines is asked for")
    return EveryEngine(members)


@pytest.fixture
def engine(request: pytest.FixtureRequest) -> EveryEngine:
    """Every engine that is ready, the native one on every path; `test_every_engine_is_ready` fails where one is not."""
    names = members_of_every(request.node)
    if request.param == "others":
        names.remove("reference")
    elif request.param != "every":
        names = [request.param]
    return in_step(names, request.config)


@pytest.fixture
def each_engine(request: pytest.FixtureRequest) -> Engine:
    """The engines in turn, for cases whose answers differ from engine to engine, or are changed."""
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
        """The oracle's power, by GMP, shapes broadcast; the reference has Python's."""
        return np.frompyfunc(lambda a, e: int(gmpy2.powmod(a, e, n)), 2, 1)(bases, exponents)

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
