"""Attacks are modules of benchmarks/networks/attacks, which measure them on real data too."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

BENCHMARKS = Path(__file__).parents[4] / "benchmarks"


@pytest.fixture(scope="session")
def attacks() -> SimpleNamespace:
    """The modules by name."""
    sys.path.insert(0, str(BENCHMARKS))
    try:
        names = ("watched_network", "gradient_noise", "on_labels", "on_columns")
        return SimpleNamespace(**{name: importlib.import_module(f"networks.attacks.{name}") for name in names})
    finally:
        sys.path.remove(str(BENCHMARKS))
