"""Tables of small updates: every figure is its result's, and what was not measured says so."""

from __future__ import annotations

import importlib
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

ROOT = Path(__file__).parents[3]


@pytest.fixture
def pages(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    return importlib.import_module("pages.small_updates")


def agreed(keep: float, way: str, loss: float, up_bytes: int) -> dict[str, Any]:
    some = {"data": "MNIST", "seeds": 3, "rounds": 60, "values": 101_770, "parties": 5, "accuracy": 0.9434}
    return {**some, "keep": keep, "way": way, "loss": loss, "up_bytes": up_bytes}


def test_a_row_stands_beside_the_papers_cell(pages) -> None:
    row = {"model": "BERT", "way": "masked, LoRA and head", "values": 109_780_000, "sent_values": 296_450}
    row |= {"up_bytes": 750_000, "down_bytes": 1_100_000, "round_cpu_s": 1.26, "paper": "16.66 MB"}
    lines = list(pages.render_table_6({"rows": [row], "versions": {"torch": "2.13.0"}}, "a machine"))
    assert "| BERT, 109,780,000 | masked, LoRA and head | 296,450 | 0.75 | 1.1 | 1.26 | 16.66 MB |" in lines
    assert "torch 2.13.0" in "\n".join(lines)


def test_ways_stand_beside_each_other_and_all_values_under_each(pages) -> None:
    rows = [agreed(1.0, "all", 0.19, 305_278), agreed(0.05, "vote", 0.2038, 28_679)]
    rows += [agreed(0.05, "random_k", 0.2519, 27_244), agreed(0.05, "top_k", 0.2617, 27_244)]
    lines = list(pages.render_agreement({"rows": rows}, "a machine"))
    assert "| 1 | 0.190 (94.3%) | 0.190 (94.3%) | 0.190 (94.3%) | 305.3 kB | 305.3 kB |" in lines
    assert "| 0.05 | 0.204 (94.3%) | 0.252 (94.3%) | 0.262 (94.3%) | 28.7 kB | 27.2 kB |" in lines


def test_what_was_not_measured_says_so(pages) -> None:
    for render in (pages.render_table_6, pages.render_agreement):
        assert list(render(None, ""))[-1] == "Not measured yet.\n"
