"""FedML-HE's benchmark: the paper's models, right results in every row, errors and lacking memory seen."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
# Table 3 of the paper, its third column.
SIZES = [101, 5609, 79510, 88648, 822570, 1663370, 3315428, 12556426, 21797672, 25557032, 55726609, 86389248, 109482240]


@pytest.fixture
def load(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Any]:
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    return importlib.import_module


def test_the_thirteen_models_of_table_3(load: Any) -> None:
    module = load("training.fedml_he_models")
    assert [model.values for model in module.MODELS] == SIZES
    assert (module.CNN.name, module.CNN.values) == ("CNN (2 Conv + 2 FC)", 1_663_370)


@pytest.mark.quick_values
@pytest.mark.parametrize("scheme", ["plain", "lattice", "ckks"])
@pytest.mark.parametrize("clients", [3, 4])
def test_a_row_is_checked_and_complete(load: Any, scheme: str, clients: int) -> None:
    if scheme == "ckks":
        pytest.importorskip("tenseal", reason="needs hekat[ckks]")
    module = load("training.fedml_he_models")
    row = module._measure_here(module.Task(scheme, 5000, clients, turns=2))
    assert (row["scheme"], row["values"], row["clients"], row["turns"]) == (scheme, 5000, clients, 2)
    assert 0 <= row["largest_error"] < 1e-4
    assert row["total_s"] == row["encrypt_s"] + row["aggregate_s"] + row["decrypt_s"] > 0
    assert row["upload_bytes"] == 20_000 if scheme == "plain" else row["upload_bytes"] > 10_000
    assert row["peak_rss_bytes"] > 20 << 20


def test_more_clients_than_encrypt_are_all_added(load: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("tenseal", reason="needs hekat[ckks]")
    module = load("training.fedml_he_models")
    monkeypatch.setattr(module, "DISTINCT_CLIENTS", 4)
    row = module._measure_here(module.Task("ckks", 100, 7))
    assert (row["clients"], row["clients_encrypting"]) == (7, 3)
    assert row["largest_error"] < 1e-8


def test_a_wrong_mean_is_no_row(load: Any) -> None:
    module = load("training.fedml_he_models")
    base = module.draw_model(10)
    mean = base * np.float32(module._mean_share(3))
    assert module._check(mean, base, 3, 1e-7) < 1e-7
    mean[3] += 1e-3
    with pytest.raises(AssertionError, match="is the bound"):
        module._check(mean, base, 3, 1e-7)


@pytest.mark.long
def test_a_lack_of_memory_is_said_in_the_row(load: Any) -> None:
    module = load("training.fedml_he_models")
    row = module.measure(module.Task("plain", 1 << 44))
    assert row == {"scheme": "plain", "values": 1 << 44, "clients": 3, "missing": "not enough memory"}


def test_the_plan_covers_tables_and_figure(load: Any) -> None:
    module = load("bench_fedml_he")
    planned = list(module.plan(False, 5, SIZES[-1], module.SCHEMES))
    by_table = {table: [task for name, task, _ in planned if name == table] for table, _, _ in planned}
    assert {name: len(tasks) for name, tasks in by_table.items()} == {"table_3": 39, "table_4": 15, "figure_11": 15}
    assert sorted({task.clients for task in by_table["figure_11"]}) == [3, 10, 50, 100, 200]
    assert all(task.values <= 100_000 for _, task, _ in module.plan(True, 5, SIZES[-1], module.SCHEMES))
    assert {task.turns for task in by_table["table_3"] if task.values == SIZES[-1]} == {1}
