"""Metrics on rows that a model was trained on are named as such, wherever a run shows them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from hekat.report import brief_of, terminal_findings, terminal_tables, verdict
from hekat.report.views import render_page

SAMPLES = Path(__file__).parent
VERTICAL = SAMPLES / "vertical_linear" / "sample_arbiter_summary.json"


def load(name: str) -> dict[str, Any]:
    path = VERTICAL if name == "vertical" else SAMPLES / "sample_summary.json"
    summary: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return summary


def told(summary: dict[str, Any]) -> str:
    """Everything that the terminal shows of the run."""
    brief = brief_of(summary)
    tables = [*terminal_tables(summary), *([brief.table] if brief.table else [])]
    lines = [line for finding in terminal_findings(summary) for line in finding.lines]
    texts = [text for table in tables for text in (table.title, table.note)]
    return "\n".join([*texts, *lines, *(text for _, text in brief.facts), *brief.warnings])


@pytest.mark.long
@pytest.mark.parametrize("name", ["horizontal", "vertical"])
def test_training_rows_are_never_called_test_rows(name: str) -> None:
    summary = load(name)
    rows = summary["test_rows"]
    summary["test_rows_trained_on"] = rows
    text = told(summary)
    assert f" {rows} training rows" in verdict(summary)
    assert "nothing of new rows" in verdict(summary)
    assert "Each model on the training rows" in text
    assert f"{rows} test rows" not in text
    assert "common test rows" not in text
    assert "the common test set" not in text
    assert any("NOTHING OF NEW ROWS" in warning for warning in brief_of(summary).warnings)
    page = render_page(summary)
    assert "NOTHING OF NEW ROWS" in page
    assert f"{rows} test rows" not in page


@pytest.mark.parametrize("name", ["horizontal", "vertical"])
def test_a_part_that_was_trained_on_is_told(name: str) -> None:
    summary = load(name)
    summary["test_rows_trained_on"] = 40
    (told_of,) = [warning for warning in brief_of(summary).warnings if "training rows too" in warning]
    assert told_of.startswith(f"40 of the {summary['test_rows']} test rows")
    assert "training rows" not in verdict(summary)


@pytest.mark.parametrize("known", [None, 0, 1])
@pytest.mark.parametrize("name", ["horizontal", "vertical"])
def test_rows_that_are_new_stay_test_rows(name: str, known: int | None) -> None:
    """One row alike among a hundred and more is what two samples may have in common."""
    summary = load(name)
    if known is not None:
        summary["test_rows_trained_on"] = known
    assert f" {summary['test_rows']} test rows" in verdict(summary)
    assert not any("training rows" in warning for warning in brief_of(summary).warnings)
