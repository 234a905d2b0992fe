"""The page of boosted trees: every aim in a line, every table whole, and files that are not there."""

from __future__ import annotations

import importlib
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
PARTS = {"keys": 0.0, "encrypt": 0.1, "sums": 0.25, "decrypt": 0.05, "plain": 0.04, "sealing": 0.03, "rest": 0.03}
TREE: dict[str, Any] = {
    "part": "tree", "what": "30,000 x 13 + 10", "rows": 30_000, "columns": [13, 10], "bins": 32,
    "protection": "lattice", "key_bits": None, "hide_partition": False, "trees": 4, "turns": 3, "tree_s": 0.5,
    "least_s": 0.45, "most_s": 0.61, "cpu_s": 0.8, "clear_s": 0.1, "clear_cpu_s": 0.15, "times_clear": 5.25,
    "lightgbm_s": 0.02, "lightgbm_cpu_s": 0.04, "mb": 22.5, "guest_mb": 15.25, "hosts_mb": 7.25, "parts_s": PARTS,
    "guest_s": 0.2, "host_s": 0.25,
    "steps_s": {"encrypt": 0.1, "sums": 0.25, "decrypt": 0.05, "splits": 0.03, "rows": 0.01},
    "clear_parts_s": PARTS, "clear_steps_s": {"encrypt": 0.0, "sums": 0.02, "decrypt": 0.001, "splits": 0.029},
    "known_elsewhere": {"tree_s": "13 s"}, "to_reach": {"tree_s": 1.5, "mb": 150.0, "times_clear": 5.0},
    "met": {"tree_s": True, "mb": True, "times_clear": False},
}  # fmt: skip
PAPER = TREE | {
    "part": "papers", "what": "100,000 x 1 + 80", "protection": "paillier", "key_bits": 2048, "turns": 1,
    "tree_s": 20.0, "times_clear": 24.0, "to_reach": {"times_clear": 5.0},
}  # fmt: skip
LARGE = TREE | {
    "part": "large", "what": "1,000,000 x 20 + 20", "turns": 1, "peak_gib": 4.06, "to_reach": {"peak_gib": 6.0},
    "met": {"peak_gib": True},
}  # fmt: skip
PREDICTION = {
    "part": "prediction", "what": "100,000 x 13 + 23", "rows": 100_000, "trees": 100, "turns": 3, "seconds": 4.56,
    "least_s": 4.5, "most_s": 5.0, "cpu_s": 6.0, "mb": 70.0, "known_elsewhere": {}, "to_reach": {"seconds": 20.0},
    "met": {"seconds": True},
}  # fmt: skip
ACROSS = {
    "what": "5 parties, 100,000 x 30", "rows": 100_000, "bins": 64, "protection": "lattice", "trees": 6, "turns": 5,
    "tree_s": 0.9, "least_s": 0.85, "most_s": 1.0, "cpu_s": 0.88, "times_clear": 2.123, "times_clear_cpu": 2.034,
    "lightgbm_s": 0.05, "lightgbm_cpu_s": 0.09, "mb": 7.5, "parties_mb": 3.0, "aggregator_mb": 4.5, "loss": 0.5,
    "party_s": 0.15, "aggregator_s": 0.075,
    "steps_s": {"open": 0.25, "deal": 0.1}, "known_elsewhere": {}, "to_reach": {"times_clear": 1.15},
    "met": {"times_clear": False},
}  # fmt: skip
IN_CLEAR = ACROSS | {"protection": "none", "times_clear": 1.0, "to_reach": {}, "steps_s": {"open": 0.05}, "met": {}}
SCORES = {
    "data": "a9a", "rows": 32_561, "columns": 123, "metric": "AUC", "hekat": 0.9, "exact": 0.91, "lightgbm": 0.9025,
    "scikit_learn": 0.91, "better_than_lightgbm": -0.0025, "allowed": 0.002, "spread": 0.0002,
}  # fmt: skip


@pytest.fixture
def load(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    return importlib.import_module


@pytest.fixture
def contents(load: Any) -> dict[str, Any]:
    training = {"max_iter": 100, "max_depth": 6, "max_bins": 32, "gradient_bits": 4}
    versions = {"lightgbm": "4.7.0", "scikit-learn": "1.9.1"}
    known = load("trees.papers").KNOWN_ELSEWHERE
    return {
        "trees": {"rows": [LARGE, TREE, PAPER, PREDICTION], "versions": versions, "known_elsewhere": known},
        "trees_rows": {"rows": [IN_CLEAR, ACROSS], "versions": versions},
        "trees-accuracy": {"rows": [SCORES], "seeds": 3, "training": training, "versions": versions},
    }


@pytest.fixture
def lines(load: Any, contents: Any) -> list[str]:
    rendered: list[str] = load("pages.trees").render_trees(contents, lambda content: "a processor")
    return rendered


def test_every_aim_has_its_line(lines: list[str]) -> None:
    for line in (
        "| 30,000 x 13 + 10, 32 bins, lattice | 0.50 s a tree | at most 1.5 s | yes | 13 s |",
        "| 30,000 x 13 + 10, 32 bins, lattice | 22 MB a tree | at most 150 MB | yes |  |",
        "| 30,000 x 13 + 10, 32 bins, lattice | 5.25 times the same in the clear | at most 5 times | **missed** |  |",
        "| 1,000,000 x 20 + 20, 32 bins, lattice | 4.1 GiB at most, all parties | at most 6 GiB | yes |  |",
        "| joint prediction, 100,000 x 13 + 23, 100 trees | 4.6 s | at most 20 s | yes |  |",
        "| across rows, 5 parties, 100,000 x 30, 64 bins, lattice | 2.12 times the same in the clear "
        "| at most 1.15 times | **missed** |  |",
    ):
        assert line in lines


def test_every_table_has_its_rows(lines: list[str]) -> None:
    for line in (
        "| 30,000 x 13 + 10, 32 bins, lattice | 0.50 s | 0.45 to 0.61 s | 0.20 s | 0.25 s | 0.80 s | 0.10 s | 0.15 s "
        "| 5.2 | 0.020 s | 0.040 s | 15.2 MB | 7.2 MB | 22.5 MB |",
        "| 30,000 x 13 + 10, 32 bins, lattice | 0.50 s | 0.10 s | 0.25 s | 0.050 s | 0.040 s | 0.030 s | 0.030 s |",
        "| 100,000 x 13 + 23 | 100 | 4.56 s | 4.50 to 5.00 s | 6.00 s | 70.0 MB |",
        "| split information synchronisation | 0.030 s | 0.080 s | 3.62 s | 13.03 s |",
        "| these steps | 0.050 s | 0.43 s | 15.64 s | 291.65 s |",
        "| the whole tree | 0.10 s | 20.00 s, 24.00 times |  | 3.49 times in all |",
        "| Synthetic | 100,000 x 10,000 | 2048 | 19,142 s | 4,802 s | 199 s |",
        "| `lattice` | 0.90 s | 0.85 to 1.00 s | 0.15 s | 0.075 s | 0.88 s | 2.12 | 2.03 | 0.050 s | 3.0 MB | 4.5 MB |",
        "| deal |  | 100 ms |",
        "| a9a | 32,561 x 123 | AUC | 0.9000 | 0.9100 | 0.9025 | 0.9100 | -0.0025 | 0.0002 | -0.002 | **missed** |",
    ):
        assert line in lines


def test_tables_are_whole(lines: list[str]) -> None:
    for line, following in pairwise(lines):
        if line.startswith("|") and following.startswith("|"):
            assert line.count("|") == following.count("|")


def test_a_single_turn_has_no_spread(lines: list[str]) -> None:
    assert any(
        line.startswith("| 1,000,000 x 20 + 20, 32 bins, lattice | 0.50 s |  | 0.20 s | 0.25 s | 0.80 s |")
        for line in lines
    )


def test_files_that_are_not_there_are_named(load: Any, contents: Any) -> None:
    lines = load("pages.trees").render_trees(contents | {"trees": None, "trees_rows": None}, lambda _: "a processor")
    assert lines[0] == "**Not measured yet**: `trees`, `trees_rows`."
    assert [line for line in lines if line.startswith("#")] == ["## Held-out rows beside LightGBM"]


def test_the_short_table_has_a_tree_of_the_default_protection(load: Any, contents: Any) -> None:
    summary = load("pages.summary")
    wide = TREE | {"columns": [13, 23], "what": "30,000 x 13 + 23", "clear_s": 0.09}
    results = dict.fromkeys(load("write_measured_pages").SUMMARY_RESULTS)
    assert summary.summary_rows(results | {"trees": contents["trees"]}) == []
    (row,) = summary.summary_rows(results | {"trees": {"rows": [TREE, wide]}})
    assert row == (
        "boosted trees by columns, 30,000 x 13 + 23, 32 bins, a tree, masked",
        "trees.md",
        "0.50 s, 22 MB",
        "the same in the clear; LightGBM, one table",
        "0.09 s; 0.020 s",
        "5.2 times the clear; aim: 5",
    )


@pytest.mark.long
def test_the_plot_of_parts_is_drawn(load: Any, contents: Any, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib", reason="needs hekat[report]")
    plots = load("trees.plots")
    assert set(load("pages.trees").PARTS) == set(plots.COLOURS)
    for name in ("once", "again"):
        plots.plot_parts(contents["trees"], tmp_path / f"{name}.svg")
    drawn = (tmp_path / "once.svg").read_text()
    assert "<svg" in drawn
    assert drawn == (tmp_path / "again.svg").read_text()
