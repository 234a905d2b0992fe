"""What most tests leave out, since it takes long and changes nothing that they look at.

No machine stops in tests, so files are written and not waited for until they are on the disk. Runs end with a report of
words and tables, without plots, but for tests marked `drawn`. Paillier keys that a run would search for are the stored
test keys of that size, the proof of a key is checked once, and randomisers are powers with short exponents. What a run
will take is measured for a millisecond, with keys that are made once. Threads that look now and then whether they are
to end look a hundred times a second. Where these things are themselves tested, they are as outside of tests. The
reference engine takes powers by GMP, which are those that Python's own `pow` takes several times as long for.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Generator, Sequence
from functools import cache
from itertools import count
from pathlib import Path
from types import ModuleType
from typing import Any
from weakref import WeakKeyDictionary

import gmpy2
import pytest

from hekat import report
from hekat.cost import calibrate
from hekat.engine import reference
from hekat.engine.interface import Engine, FixedBaseTable, ResidueArray
from hekat.engine.limbs import limbs_from_ints
from hekat.scheme.paillier import PrivateKey, PublicKey
from hekat.scheme.paillier.keys import key_pair, permutation_proof
from hekat.scheme.paillier.keys.table_cache import TableCache

SYNCED = ("tests/state/", "tests/wire/", "test_release_record.py")
RUNS = ("tests/cli/", "tests/launch/", "tests/run/", "tests/summary/", "tests/own_loop/", "tests/estimator/")
KEYS_SEARCHED = ("tests/scheme/", "tests/wire/", "tests/conformance/", "tests/engine/")
RANDOMISED = (
    *KEYS_SEARCHED,
    "tests/encrypted_array/",
    "attacks.py",
    "test_chosen_plaintexts.py",
    "test_cross_products.py",
    "test_whole_mask.py",
    "test_single_tenant_run.py",
)
RANDOMISERS = ("standard_randomisers", "djn_randomisers", "crt_randomisers")
SHORT_BITS = 64
MEASURED_WITH_KEYS = {"hekat.cost.calibrate", "hekat.cost.vertical_linear"}
LOOKS = (
    ("hekat.launch.flower.party_process", "_LOOK_EVERY_S"),
    ("hekat.launch.flower.grid_post", "_LOOK_FOR_NODES_S"),
    ("hekat.launch.nvflare.controller", "_LOOK_FOR_END_S"),
    ("hekat.launch.nvflare.site_process", "_LOOK_FOR_ABORT_S"),
    ("hekat.launch.nvflare.protected.handover", "_LOOK_FOR_ABORT_S"),
)
SPECIFICATION = "tests/engine/test_reference.py"
STORED_KEYS = Path(__file__).parent / "vectors" / "paillier_keys.json"


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, Any, Any]:
    """Around a test with its fixtures of every scope."""
    with pytest.MonkeyPatch.context() as patch:
        if not any(part in item.nodeid for part in SYNCED):
            patch.setattr(os, "fsync", lambda descriptor: None)
        if item.nodeid.startswith(RUNS) and item.get_closest_marker("drawn") is None:
            for module, name in plots():
                patch.setattr(module, name, lambda summary: "<svg></svg>")
        patch.setattr(calibrate, "LEAST_S", 0.001)
        if not item.nodeid.startswith(SPECIFICATION):
            patch.setattr(reference, "pow", power, raising=False)
        for name, constant in LOOKS:
            if name in sys.modules:
                patch.setattr(sys.modules[name], constant, 0.01)
        for name in MEASURED_WITH_KEYS & sys.modules.keys():
            patch.setattr(sys.modules[name], "make_passing_key", take_passing_key)
        if not item.nodeid.startswith(KEYS_SEARCHED):
            patch.setattr(key_pair, "find_prime_pair", take_stored_primes)
            patch.setattr(permutation_proof, "_hold", hold_as_before)
        if not any(part in item.nodeid for part in RANDOMISED):
            for name in RANDOMISERS:
                patch.setattr(sys.modules["hekat.scheme.paillier.encrypt"], name, short_randomisers)
        return (yield)


@cache
def plots() -> list[tuple[ModuleType, str]]:
    """The functions of hekat.report that draw, by the modules that call them."""
    modules = [module for name, module in sys.modules.items() if name.startswith(report.__name__)]
    return [(module, name) for module in modules for name in vars(module) if is_plot(module, name)]


def is_plot(module: ModuleType, name: str) -> bool:
    return name.startswith("plot_") and callable(getattr(module, name))


def power(base: int, exponent: int, n: int) -> int:
    return int(gmpy2.powmod(base, exponent, n))


search = key_pair.find_prime_pair
calls = count()


@cache
def stored_primes() -> dict[int, list[tuple[int, int]]]:
    keys = json.loads(STORED_KEYS.read_text())["keys"]
    return {int(bits): [(int(pair["p"], 16), int(pair["q"], 16)) for pair in pairs] for bits, pairs in keys.items()}


def take_stored_primes(bits: int, progress: Callable[[int, int], None] | None = None) -> tuple[int, int]:
    """Published primes of that size, other ones than the last time; where there are none, they are searched for."""
    pairs = stored_primes().get(bits)
    if pairs is None:
        return search(bits, progress)
    if progress is not None:
        progress(1, 2)
    return pairs[next(calls) % len(pairs)]


make_passing_key = calibrate.make_passing_key


@cache
def passing_keys(bits: int) -> list[PrivateKey]:
    return [make_passing_key(bits) for _ in range(3)]


def take_passing_key(bits: int) -> PrivateKey:
    """A key to measure with, another one than the last time."""
    keys = passing_keys(bits)
    return keys[next(calls) % len(keys)]


hold = permutation_proof._hold


def hold_as_before(n: int, roots: Sequence[int], values: Sequence[int]) -> bool:
    """Whether these are roots of these values, which is a matter of the three alone."""
    return hold_kept(n, tuple(roots), tuple(values))


@cache
def hold_kept(n: int, roots: tuple[int, ...], values: tuple[int, ...]) -> bool:
    return hold(n, roots, values)


# Powers of one n-th residue, by engine and key, for as long as the key lives: made again it has moduli of its own.
short_tables: WeakKeyDictionary[PublicKey, TableCache] = WeakKeyDictionary()


def short_randomisers(key: PublicKey | PrivateKey, count: int, engine: Engine, *, batch_count: int = 0) -> ResidueArray:
    """Fresh n-th residues mod n^2, as in each variant of encryption, but powers with exponents of SHORT_BITS bits."""
    public = key.public if isinstance(key, PrivateKey) else key

    def make() -> FixedBaseTable:
        base = gmpy2.powmod(int.from_bytes(os.urandom(public.bits // 8), "little"), public.n, public.n_squared.value)
        limbs = limbs_from_ints([int(base)], public.n_squared.limb_count)[0]
        return engine.fixed_base_table(limbs, public.n_squared, SHORT_BITS, uses=1 << 12, constant_time=False)

    tables = short_tables.setdefault(public, TableCache())
    return engine.mod_exp_fixed(tables.get(engine, make, 1), engine.random_bits(count, SHORT_BITS))
