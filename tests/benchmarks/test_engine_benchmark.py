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
