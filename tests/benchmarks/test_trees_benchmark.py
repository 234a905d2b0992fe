"""Trees beside LightGBM: what a comparison has in its row, and when it fails."""

from __future__ import annotations

import importlib
import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hekat.engine.cpu import CpuEngine
from hekat.model.trees import TreeTraining

ROOT = Path(__file__).parents[2]


@pytest.fixture
def load(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    return importlib.import_module


def _data(load: Any, name: str) -> Any:
    return next(data for data in load("trees.compare_lightgbm").compared_data(None) if data.name == name)


@pytest.mark.long
@pytest.mark.parametrize(("name", "metric"), [("wine", "AUC"), ("breast cancer", "AUC"), ("diabetes", "RMSE")])
def test_a_comparison_trains_all_on_the_same_rows(load: Any, name: str, metric: str) -> None:
    pytest.importorskip("lightgbm", reason="needs hekat[bench]")
    lines: list[str] = []
    row = load("trees.compare_lightgbm").compare(
        _data(load, name), TreeTraining(max_iter=8, max_bins=16), 2, lines.append
    )
    assert [line.split(",")[0] for line in lines] == [f"{name}: draw 1 of 2", f"{name}: draw 2 of 2"]
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
    monkeypatch.setattr(command, "compare", lambda data, training, seeds, say: row)
    monkeypatch.setattr(load("measuring.record"), "RESULTS", tmp_path)
    monkeypatch.setattr(sys, "argv", ["accuracy.py", "--only", "wine"])
    assert command.main() == status
    written = json.loads((tmp_path / "trees-accuracy.json").read_text())
    assert written["rows"] == [row]
    assert written["training"]["max_bins"] == 32


TINY = {"row_count": 600, "trees": 2, "turns": 2}


def _silent(line: str) -> None:
    """Progress that nobody reads."""


@pytest.mark.long
@pytest.mark.parametrize(
    ("counts", "changes"),
    [((2, 3), {}), ((2, 2, 3), {"hide_partition": True, "protection": "lattice"}), ((1, 4), {"protection": "none"})],
)
def test_a_row_has_what_a_tree_took_beside_the_clear_and_lightgbm(load: Any, counts: Any, changes: Any) -> None:
    pytest.importorskip("lightgbm", reason="needs hekat[bench]")
    columns = load("trees.columns")
    lines: list[str] = []
    row = columns.measure(
        "tree", columns.Work(counts, bins=8, to_reach={"tree_s": 0.0, "mb": 99.0}, **TINY, **changes), lines.append
    )
    assert row["rows"] == 600
    assert len(lines) == 2
    assert row["met"]["tree_s"] is False
    assert row["met"]["mb"] is True
    assert row["least_s"] <= row["tree_s"] <= row["most_s"]
    assert row["mb"] == pytest.approx(row["guest_mb"] + row["hosts_mb"])
    assert {"sealing", "sums", "rest"} <= row["parts_s"].keys()
    assert min(row[name] for name in ("cpu_s", "clear_s", "clear_cpu_s", "lightgbm_s", "hosts_mb", "guest_mb")) > 0


def test_a_trees_figures_are_of_all_but_the_first_and_parts_add_up(load: Any) -> None:
    run, columns = load("trees.run"), load("trees.columns")
    trained = run.TrainedTrees(sent_bytes={"bank": 8_000_000, "shop": 4_000_000})
    for wall, cpu, sums, opened in (
        (0, 0, 0.0, 0.0),
        (9, 5, 4.0, 0.5),
        (10, 7, 4.5, 0.75),
        (13, 10, 5.0, 1.0),
        (15, 14, 7.0, 1.25),
    ):
        steps = {"bank": {"open": opened}, "shop": {"sums": sums}}
        trained.moments.append(run._Moment(float(wall), float(cpu), steps))
    assert (trained.trees, trained.tree_s, trained.cpu_s) == (4, 2.0, 3.0)
    assert trained.steps_s == {"open": 0.25, "sums": 1.0}
    parts = columns.parts_of(trained)
    assert (parts["sums"], parts["sealing"], parts["decrypt"], parts["rest"]) == (1.0, 0.25, 0.0, 0.75)
    assert trained.working_s == {"bank": 0.25, "shop": 1.0}
    found = columns.figures("bank", [trained], [trained], [load("trees.data").Took(0.1, 0.2)])
    assert (found["guest_mb"], found["hosts_mb"], found["mb"], found["times_clear"]) == (2.0, 1.0, 3.0, 1.0)
    assert (found["guest_s"], found["host_s"]) == (0.25, 1.0)


@pytest.fixture
def grown(load: Any) -> Any:
    """Trees of three parties, their columns, and the plain booster's."""
    columns = load("trees.data").draw_columns(600, (2, 2, 2), 3)
    training = TreeTraining(max_iter=2, max_bins=8, max_depth=4)
    trained = load("trees.run").train(columns.settings(training, "none"), columns.tables())
    return trained.parts, columns, load("trees.same_trees").train_joined(columns, training)


@pytest.mark.parametrize("name", ["node_value", "node_gain", "node_left", "node_column", "node_split_number"])
def test_a_changed_node_of_the_guest_is_seen(load: Any, grown: Any, name: str) -> None:
    same, (parts, columns, plain) = load("trees.same_trees"), grown
    same.check_trees(parts, columns, plain)
    changed = parts["bank"].arrays[name].copy()
    place = np.flatnonzero(parts["bank"].arrays["node_column"] < 2)[-1]
    changed[place] += 1
    arrays = dict(parts["bank"].arrays) | {name: changed}
    with pytest.raises(same.DifferentTreesError):
        same.check_trees({**parts, "bank": replace(parts["bank"], arrays=arrays)}, columns, plain)


@pytest.mark.parametrize("name", ["split_columns", "split_left"])
def test_a_changed_split_of_a_host_is_seen(load: Any, grown: Any, name: str) -> None:
    same, (parts, columns, plain) = load("trees.same_trees"), grown
    host = next(one for one in ("host1", "host2") if len(parts[one].arrays["split_columns"]))
    changed = parts[host].arrays[name].copy()
    changed.flat[0] ^= 1
    arrays = dict(parts[host].arrays) | {name: changed}
    with pytest.raises(same.DifferentTreesError, match=host):
        same.check_trees({**parts, host: replace(parts[host], arrays=arrays)}, columns, plain)


def test_a_joint_prediction_is_the_plain_boosters(load: Any) -> None:
    row = load("trees.columns").measure_prediction(_silent, row_count=500, trees=3, turns=1)
    assert row["met"] == {"seconds": True}
    assert row["mb"] > 0


@pytest.mark.long
def test_trees_across_rows_are_measured_in_turns(load: Any) -> None:
    pytest.importorskip("lightgbm", reason="needs hekat[bench]")
    across = load("trees.across_rows")
    training = replace(across.TRAINING, max_iter=2, max_depth=2, max_bins=8)
    clear, masked = across.measure_rows(_silent, 500, 1, training)
    assert (clear["protection"], masked["protection"]) == ("none", "lattice")
    assert clear["times_clear"] == 1.0
    assert clear["to_reach"] == {}
    assert masked["loss"] == clear["loss"]
    assert min(masked["party_s"], masked["aggregator_s"]) > 0
    assert sum(masked["steps_s"].values()) > masked["party_s"] + masked["aggregator_s"]
    assert masked["met"]["times_clear"] == (masked["times_clear"] <= 1.15)


def test_all_is_written_once_it_is_measured_and_nothing_of_parts_that_were_not(
    load: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("lightgbm", reason="needs hekat[bench]")
    command = load("bench_trees")
    monkeypatch.setattr(load("measuring.record"), "RESULTS", tmp_path)
    row = {"what": "a tree", "part": "tree", "met": {}}
    monkeypatch.setattr(command, "measure", lambda part, work, say: {**row, "part": part})
    monkeypatch.setattr(command, "measure_prediction", lambda say: {**row, "part": "prediction"})

    def stop(say: Any) -> Any:
        raise KeyboardInterrupt

    monkeypatch.setattr(command, "measure_rows", stop)
    monkeypatch.setattr(sys, "argv", ["bench_trees.py", "tree"])
    assert command.main() == 0
    assert not list(tmp_path.iterdir())
    monkeypatch.setattr(sys, "argv", ["bench_trees.py"])
    assert command.main() == 130
    assert "stopped" in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["trees.json"]
    written = json.loads((tmp_path / "trees.json").read_text())
    parts = [one["part"] for one in written["rows"]]
    assert parts == ["large", *["tree"] * len(command.TREES), *["papers"] * len(command.PAPERS), "prediction"]
    assert written["known_elsewhere"]["flash"]["times_in_all"] == 3.49


@pytest.mark.long
def test_first_coefficients_are_timed_beside_single_operations(load: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    sums = load("lattice.window_sums")
    monkeypatch.setattr(sums, "SIZES", ((32, 16, 2),))
    rows = sums.measure_window_sums(CpuEngine(1), 1)
    assert [row["operation"] for row in rows] == ["ring_window_sums", "ring_first_products", "ring_add_zeros"]
    monkeypatch.setattr(sums, "residues", lambda small: np.zeros((len(small), *sums.RING.element_shape), np.uint64))
    with pytest.raises(SystemExit, match=r"ring_add_zeros .* disagrees"):
        sums.measure_window_sums(CpuEngine(1), 1)
