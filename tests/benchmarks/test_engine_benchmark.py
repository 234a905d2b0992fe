"""The engine's measurements beside single operations and NumPy: each is checked before it is timed."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hekat.engine.cpu import CpuEngine

ROOT = Path(__file__).parents[2]
OPERATIONS = ["ring_ntt_integers", "ring_dot", "ring_refresh", "ring_drop_prime", "ring_round"]


@pytest.fixture
def load(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    return importlib.import_module


def test_parts_of_shared_products_are_timed_beside_single_operations(
    load: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    shared = load("lattice.shared_products")
    monkeypatch.setattr(shared, "SIZES", ((2, 3, 2, 16),))
    rows = shared.measure_shared_products(CpuEngine(1), 1)
    assert [row["operation"] for row in rows] == OPERATIONS
    assert all(row["ms"] > 0 and row["times_single"] > 0 for row in rows)
    monkeypatch.setattr(shared, "spread", lambda constants: np.ones(shared.RING.element_shape, np.uint64))
    with pytest.raises(SystemExit, match=r"ring_drop_prime \(3 elements\) disagrees"):
        shared.measure_shared_products(CpuEngine(1), 1)


def test_noise_is_timed_once_its_variance_is_right(load: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    noise, engine = load("lattice.noise"), CpuEngine(1)
    monkeypatch.setattr(noise, "COUNT", 1 << 14)
    rows = noise.measure_noise(engine, 1)
    assert [row["what"] for row in rows] == [f"16384 numbers, s = {s}" for s in (4, 1023, 1024)]
    assert all(row["millions_a_second"] > 0 and row["times_numpy"] > 0 for row in rows)
    exact = engine.sample_discrete_gaussian
    monkeypatch.setattr(engine, "sample_discrete_gaussian", lambda *arguments: exact(*arguments) // 2)
    with pytest.raises(SystemExit, match="noise of s = 4 has another variance"):
        noise.measure_noise(engine, 1)
