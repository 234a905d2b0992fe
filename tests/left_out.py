"""What most tests leave out, since it takes long and changes nothing that they look at.

No machine stops in tests, so files are written and not waited for until they are on the disk. Runs end with a report of
words and tables, without plots, but for tests marked `drawn`. Paillier keys that a run would search for are the stored
test keys of that size. What a run will take is measured for a millisecond. Where these things are themselves tested,
they are as they are outside of tests.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Generator
from functools import cache
from itertools import count
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from hekat import report
from hekat.cost import calibrate
from hekat.scheme.paillier.keys import key_pair

SYNCED = ("tests/state/", "tests/wire/", "test_release_record.py")
RUNS = ("tests/cli/", "tests/launch/", "tests/run/", "tests/summary/", "tests/own_loop/", "tests/estimator/")
KEYS_SEARCHED = ("tests/scheme/", "tests/wire/", "tests/conformance/", "tests/engine/")
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
        if not item.nodeid.startswith(KEYS_SEARCHED):
            patch.setattr(key_pair, "find_prime_pair", take_stored_primes)
        return (yield)


@cache
def plots() -> list[tuple[ModuleType, str]]:
    """The functions of hekat.report that draw, by the modules that call them."""
    modules = [module for name, module in sys.modules.items() if name.startswith(report.__name__)]
    return [(module, name) for module in modules for name in vars(module) if is_plot(module, name)]


def is_plot(module: ModuleType, name: str) -> bool:
    return name.startswith("plot_") and callable(getattr(module, name))


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
