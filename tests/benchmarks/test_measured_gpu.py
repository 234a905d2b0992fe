"""The figures of a GPU: aims reached and missed, what was not measured beside the host, what failed."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

import pytest

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
PRODUCT = {
    "section": "element-wise",
    "key_bits": 2048,
    "operation": "mod_mul",
    "items": 1000,
    "per_s": 2.5e8,
    "of_ceiling": 0.55,
    "to_reach": 2.4e8,
    "to_reach_of_ceiling": 0.6,
    "reached": False,
    "cpu_per_s": 1e7,
    "times_cpu": 25.0,
}
MASKING = {"section": "lattice", "key_bits": None, "operation": "mask", "items": 9, "per_s": 4e10}
GRADIENT = {
    "section": "gradient",
    "operation": "gradient to bytes",
    "times_slower_of_both": 1.2,
    "to_reach": "at most 1.3 times",
    "reached": True,
}
BROKEN = {"section": "as called", "key_bits": 1024, "operation": "add", "items": 5, "failed": "AssertionError: wrong"}
CONTENT = {
    "engine": {"device": "A card", "compute capability": "9.0", "driver": "1", "cuda": "2", "kernels": "compiled"},
    "ceilings": dict.fromkeys(
        ("wide_multiply_adds", "chained_multiply_adds", "device_bytes", "to_device_bytes", "to_host_bytes"), 8e12
    ),
    "rows": [PRODUCT, MASKING, GRADIENT, BROKEN],
}


@pytest.fixture
def lines(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    rendered: list[str] = importlib.import_module("pages.gpu").render_gpu(CONTENT, "a host, 2 cores")
    return rendered


def test_what_misses_its_aim_says_so(lines: list[str]) -> None:
    assert "| mod_mul | 240 M /s, 60% of the ceiling | 250 M /s, 55% of the ceiling | **missed** |" in lines
    assert "| gradient to bytes | at most 1.3 times | 1.2 times | yes |" in lines


def test_operations_stand_beside_the_host_where_it_was_measured(lines: list[str]) -> None:
    assert "| mod_mul | 2048 | 1,000 | 250 M | 55% | 10 M | 25 |" in lines
    assert "| mask |  | 9 | 40 G |  |  |  |" in lines


def test_what_failed_keeps_its_place(lines: list[str]) -> None:
    assert "| add | 1024 | 5 | failed: AssertionError: wrong |  |  |" in lines


def test_the_card_its_host_and_its_ceilings_are_named(lines: list[str]) -> None:
    assert lines[0] == "## A card"
    assert "a host, 2 cores. Measured at most: 8.00 T multiply-adds" in lines[2]


def test_published_tables_are_left_out_where_nothing_is_beside_them(lines: list[str]) -> None:
    assert not [line for line in lines if "Beside" in line]


def _papers(monkeypatch: pytest.MonkeyPatch, rows: list[dict[str, Any]]) -> list[str]:
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    found: list[str] = importlib.import_module("pages.gpu")._papers(rows)
    return found


def test_published_figures_stand_beside_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    shared = {"key_bits": 1024, "per_s": 5e6, "source": "A paper"}
    haflo = {"section": "HAFLO Table 2", "operation": "addition", "published": {"gpu": 1e6, "cpu": 10}, **shared}
    theirs = {"Homo LR": {"FATE": 1, "HAFLO": 2, "FLBooster": 300}}
    flbooster = {"section": "FLBooster Table IV", "operation": "values", "published": theirs, **shared}
    lines = _papers(monkeypatch, [haflo, flbooster, {**flbooster, "published": {}}])
    assert "| addition | 5 M | 1 M | 10 |" in lines
    assert [line for line in lines if line.startswith("| 1024")] == ["| 1024 | 5 M | Homo LR 300 |"]
