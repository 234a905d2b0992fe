"""The page of attacks: every mask in a line beside floor and ceiling, labels and texts, and what is not visible."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

import pytest

BENCHMARKS = Path(__file__).parents[3] / "benchmarks"
BOUNDS = {"ssim": 0.0, "mssim": 0.3, "vif": 0.03, "uqi": 0.7}
PICTURE: dict[str, Any] = {
    "part": "picture", "picture": "ship", "mask": "0.1 by map", "attacker": "adaptive", "masked": 8865,
    "values": 88648, "objective": 0.01, "cpu_s": 12.4, "label_read": True, "ssim": 0.861, "mssim": 0.99, "vif": 0.37,
    "uqi": 0.99, "floor": BOUNDS, "ceiling": dict.fromkeys(BOUNDS, 0.98),
}  # fmt: skip
HIDDEN = {k: v for k, v in PICTURE.items() if k not in BOUNDS} | {"mask": "all", "masked": 88648, "label_read": False}
LABELS = {"part": "labels", "mode": "label", "share": 0.5, "pictures": 100, "read": 20, "wrong": 0, "classes_left": 15}
TEXTS = {"part": "texts", "share": 0.3, "texts": 100, "tokens_read": 0.188, "rare_read": 0.939, "false_tokens": 0}
MAP = {
    "part": "map", "tensor": "9.weight", "values": 76800, "of_all_values": 0.866, "of_sensitivity": 0.773,
    "masked_of_it": 0.045,
}  # fmt: skip


@pytest.fixture
def lines(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    rows = [{**row, "picture": name} for row in (PICTURE, HIDDEN) for name in ("ship", "cat")]
    content = {
        "pictures": "made up", "steps": 1600, "restarts": 2, "versions": {"torch": "2.9"},
        "rows": [*rows, MAP, LABELS, {**LABELS, "mode": "exact", "read": 100, "classes_left": 1}, TEXTS],
    }  # fmt: skip
    found: list[str] = importlib.import_module("pages.attacks").render_attacks(content, "a processor")
    return found


@pytest.mark.parametrize(
    "line",
    [
        "| floor |  |  | 0.00 / 0.00 | 0.30 / 0.30 | 0.03 / 0.03 | 0.70 / 0.70 |  |  |",
        "| 0.1 by map | 0.100 | adaptive | 0.86 / 0.86 | 0.99 / 0.99 | 0.37 / 0.37 | 0.99 / 0.99 | 2 of 2 | 12 / 12 |",
        "| `9.weight` | 76,800 | 86.6% | 77.3% | 4.5% |",
        "| `label` | 0.5 | 20 of 100 | 0 | one of 15 |",
        "| `exact` | 0.5 | 100 of 100 | 0 |  |",
        "| 0.3 | 19% | 94% | 0 |",
    ],
)
def test_every_figure_has_its_line(line: str, lines: list[str]) -> None:
    assert line in lines


def test_a_page_without_figures_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    assert "Not measured yet" in importlib.import_module("pages.attacks").render_attacks(None, "")[0]


def test_a_mask_of_everything_leaves_nothing_visible_and_bounds_are_called_so(lines: list[str]) -> None:
    assert any(line.startswith("| all | 1.000 | adaptive | nothing visible / nothing visible |") for line in lines)
    assert lines[0].startswith("**All scores are lower bounds on leakage.**")
    assert any("1,600 steps, 2 starts" in line for line in lines)
