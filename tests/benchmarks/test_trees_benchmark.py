"""Trees beside LightGBM: what a comparison has in its row, and when it fails."""

from __future__ import annotations

import importlib
import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hekat.model.trees import TreeTraining

ROOT = Path(__file__).parents[2]


@pytest.fixture
def load(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    return importlib.import_module


def _data(load: Any, name: str) -> Any:
    return next(data for data in load("trees.compare_lightgbm").compared_data(None) if data.name == name)


@pytest.mark.parametrize(("name", "metric"), [("wine", "AUC"), ("breast cancer", "AUC"), ("diabetes", "RMSE")])
def test_a_comparison_trains_all_on_the_same_rows(load: Any, name: str, metric: str) -> None:
    pytest.importorskip("lightgbm", reason="needs hekat[bench]")
    row = load("trees.compare_lightgbm").compare(_data(load, name), TreeTraining(max_iter=8, max_bins=16), seeds=2)
    assert row["metric"] == metric
    # With the same settings all come to the same place; a constant has AUC 0.5, or the spread of the target.
    others = np.array([row[kind] for kind in ("hekat", "exact", "scikit_learn")])
    assert np.allclose(others, row["lightgbm"], rtol=0.03)
    assert row["lightgbm"] > 0.9 if metric == "AUC" else row["lightgbm"] < 0.95 * np.std(_data(load, name).y)
    worse = row["lightgbm"] - row["hekat"] if metric == "AUC" else row["hekat"] / row["lightgbm"] - 1
    assert row["better_than_lightgbm"] == pytest.approx(-worse, abs=1e-12)


def test_hosts_have_the_second_half_of_the_columns(load: Any) -> None:
    assert load("trees.compare_lightgbm").joined_columns(_data(load, "wine")).tolist() == [False] * 6 + [True] * 7


@pytest.mark.parametrize(("difference", "status"), [(-0.0019, 0), (-0.0021, 1), (0.3, 0)])
def test_the_command_fails_where_a_score_is_too_low(
    load: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, difference: float, status: int
) -> None:
    pytest.importorskip("lightgbm", reason="needs hekat[bench]")
    command = load("trees.accuracy")
    row = {"data": "wine", "metric": "AUC", "allowed": 0.002, "better_than_lightgbm": difference}
    row |= dict.fromkeys(("hekat", "exact", "lightgbm", "scikit_learn"), 0.9)
    monkeypatch.setattr(command, "compare", lambda data, training, seeds: row)
    monkeypatch.setattr(load("measuring.record"), "RESULTS", tmp_path)
    monkeypatch.setattr(sys, "argv", ["accuracy.py", "--only", "wine"])
    assert command.main() == status
    written = json.loads((tmp_path / "trees-accuracy.json").read_text())
    assert written["rows"] == [row]
    assert written["training"]["max_bins"] == 32
