"""The page of what a model tells: aims met and missed, every share beside what is read of it, what is missing."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

import pytest

BENCHMARKS = Path(__file__).parents[3] / "benchmarks"
SUM = {
    "masked": 0.1, "values": 1000, "in_the_clear": 900, "upload_mb": 53.4, "to_float32": 0.52, "download_mb": 61.7,
    "send_s": 0.25, "add_s": 0.05, "write_s": 0.27, "read_s": 0.71,
}  # fmt: skip
MAP = {
    "net": "LeNet", "parameters": 88_648, "side": 32, "classes": 100, "mode": "exact", "rows": 16, "overlap": 0.953,
    "cpu_s": 1.4, "models_held": 4.0,
}  # fmt: skip
NOISE = {
    "path": "portable",
    "what": "1,048,576 numbers, s = 4",
    "ms": 50.0,
    "millions_a_second": 21.0,
    "times_numpy": 0.4,
}
CREDIT = {
    "data": "credit", "rows": 24_000, "parties": 3, "seeds": 3, "epsilon": 3.0, "shared": 81.0, "shared_spread": 0.1,
    "central": 81.5, "central_spread": 0.2, "points": -0.5, "exact": 81.6, "noise_shared": 1.162,
    "noise_central": 1.081, "job_cpu_s": 9.0,
}  # fmt: skip
READ = {"masked": 0.1, "updates": 10, "labels_read": 9, "labels_wrong": 1, "inputs_read": 0.769}
PICTURE = {"part": "picture", "attacker": "adaptive", "mask": "0.1 by map", "ssim": 0.94, "picture": "ship"}


@pytest.fixture
def render(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    page = importlib.import_module("pages.privacy")

    def lines(attacks: Any = None, **rows: list[dict[str, Any]]) -> list[str]:
        given = {name.replace("_", "-"): some for name, some in rows.items()}
        contents = {name: {"rows": given[name]} if name in given else None for name in page.NAMES}
        found: list[str] = page.render_privacy(contents, attacks and {"rows": attacks}, lambda content: "a processor")
        return found

    return lines


def test_every_aim_says_whether_it_was_met(render: Any) -> None:
    faster = NOISE | {"millions_a_second": 27.0}
    lines = render(sensitivity=[MAP], noise=[NOISE, faster], privacy=[CREDIT, CREDIT | {"points": -1.2}])
    assert "| `exact` map of LeNet, 32 x 32 | 1.40 s | at most 2 s | yes |" in lines
    assert (
        "| `exact` map of LeNet, 32 x 32, memory | 5.0 times the model, itself one of them | at most 3 | **missed** |"
        in lines
    )
    untimed = render(sensitivity=[MAP | {"cpu_s": None, "models_held": 2.0}])
    aims = [line for line in untimed if "map of LeNet" in line]
    assert aims == [
        "| `exact` map of LeNet, 32 x 32, memory | 3.0 times the model, itself one of them | at most 3 | yes |"
    ]
    assert "| exact noise, path `portable` | 21 to 27 million a second | at least 20 million | yes |" in lines
    aim = "| credit, epsilon 3, beside central DP-SGD | {} points | at most 1 point below | {} |"
    assert aim.format("-0.50", "yes") in lines
    assert aim.format("-1.20", "**missed**") in lines


def test_a_share_stands_beside_what_the_adaptive_attacker_reads(render: Any) -> None:
    naive = PICTURE | {"attacker": "naive", "ssim": 0.02}
    hidden = {"part": "picture", "attacker": "adaptive", "mask": "all", "picture": "ship"}
    attacks = [PICTURE, PICTURE | {"picture": "cat", "ssim": 0.9}, naive, hidden, hidden | {"picture": "cat"}]
    whole = {"masked": 1.0, "labels_read": 0, "labels_wrong": 0, "inputs_read": 0.0}
    sums = [SUM, SUM | {"masked": 1.0}, SUM | {"masked": None}]
    lines = render(attacks, selective=sums, read_large=[READ, READ | whole])
    cells = "53.4 | 0.52 | 61.7 | 0.25 | 0.05 | 0.27 | 0.71"
    assert f"| 0.1 | {cells} | 9 of 10, 1 wrong | 77% | 0.94 / 0.90 |" in lines
    assert f"| **all, the default** | {cells} | 0 of 10 | 0% | nothing visible |" in lines
    assert f"| plain float32, NumPy | {cells} |  |  |  |" in lines


def test_tables_have_all_figures_of_a_row(render: Any) -> None:
    lines = render(sensitivity=[MAP | {"overlap": None}], noise=[NOISE], privacy=[CREDIT])
    assert "| LeNet | 88,648 | 32 x 32 | 100 | `exact` | 16 |  | 1.40 | 4.0 models |" in lines
    lines = render(sensitivity=[MAP | {"overlap": None, "cpu_s": None}], noise=[NOISE], privacy=[CREDIT])
    assert "| LeNet | 88,648 | 32 x 32 | 100 | `exact` | 16 |  |  | 4.0 models |" in lines
    assert "| `portable` | 1,048,576 numbers, s = 4 | 50.0 | 21 | 0.40 |" in lines
    row = "| credit, 24,000 of 3 parties | 3 | 81.00 (0.10) | 81.50 (0.20) | -0.50 | 81.60 | 1.162 | 1.081 | 9.0 |"
    assert row in lines


def test_what_was_not_measured_is_named(render: Any) -> None:
    names = "`selective`, `read-large`, `sensitivity`, `noise`, `privacy`"
    assert render()[0] == f"**Not measured yet**: {names}. `make bench-privacy` does it."


def test_the_short_table_has_a_job_beside_central_dp_sgd_and_noise_beside_numpy(render: Any) -> None:
    summary, names = importlib.import_module("pages.summary"), importlib.import_module("write_measured_pages")
    results = dict.fromkeys(names.SUMMARY_RESULTS)
    fast = NOISE | {
        "path": "ifma",
        "what": "1,048,576 numbers, s = 1023",
        "millions_a_second": 100.0,
        "times_numpy": 2.5,
    }
    rows = summary.summary_rows(
        results | {"privacy": {"rows": [CREDIT | {"data": "MNIST"}]}, "noise": {"rows": [fast]}}
    )
    what = "MNIST, 3 parties, differential privacy by rows, epsilon 3, regression"
    peers = ("central DP-SGD; no noise", "81.5%; 81.6%", "-0.50 points; aim: -1")
    slower = ("NumPy, normal and rounded, not exact", "40 million /s", "2.5")
    assert rows == [
        (what, "privacy.md", "81.0% right", *peers),
        ("exact discrete Gaussian noise, one core", "privacy.md", "100 million /s", *slower),
    ]
    assert summary.summary_rows(results | {"privacy": {"rows": [CREDIT]}, "noise": {"rows": [NOISE]}}) == []
