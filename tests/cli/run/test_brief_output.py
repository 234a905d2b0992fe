"""What a run prints unasked fits one screen, and leaves out nothing that its user must see."""

from __future__ import annotations

import argparse
import copy
import io
import json
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from hekat.cli.run import end as run_end
from hekat.launch.run_result import RunResult
from hekat.report.summary import protocol_of

SAMPLES = Path(__file__).parents[2] / "report"
MOST_ROWS = 40
# What runs print before their end, by protocol: a line for each phase, and what the library warns of.
PROGRESS_ROWS = {"horizontal": 3, "vertical_linear": 3, "psi": 1}
# A party that is lost is told while the run goes on, on a narrow terminal in two rows.
LOST_ROWS = 2


def read(name: str) -> dict[str, Any]:
    content: dict[str, Any] = json.loads((SAMPLES / name).read_text(encoding="utf-8"))
    return content


def lose_county(summary: dict[str, Any]) -> None:
    reason = "left in the middle of round-5, as was asked for"
    summary["lost"] = [{"party": "county", "round": 5, "step": "round-5/upload-9/block", "reason": reason}]
    for name in ("northside", "lakeview", "saint-anne", "riverside"):
        summary["notes"].append(f"{name} did not compare its final model with county: nothing came from it")


def shown(summary: dict[str, Any], columns: int, folder: Path, monkeypatch, *, verbose: bool = False) -> str:
    monkeypatch.setattr(run_end, "write_report", lambda folder: folder / "report.html")
    said = io.StringIO()
    run = RunResult(folder / "runs" / "20260101T120000Z-1a2b3c", summary)
    options = argparse.Namespace(json=False, verbose=verbose)
    run_end.show_run(run, Console(file=said, width=columns), options)
    return said.getvalue().replace(f"{folder}/", "")


@pytest.mark.quick_values
@pytest.mark.parametrize("columns", [80, 120])
@pytest.mark.parametrize(
    "name",
    [
        "sample_summary.json",
        "vertical_linear/sample_arbiter_summary.json",
        "vertical_linear/sample_shared_summary.json",
        "psi/sample_psi_summary.json",
    ],
)
def test_a_run_takes_one_screen(name, columns, tmp_path, monkeypatch) -> None:
    summary = read(name)
    text = shown(summary, columns, tmp_path, monkeypatch)
    rows = sum(max(1, -(-len(line) // columns)) for line in text.splitlines())
    assert rows + PROGRESS_ROWS[protocol_of(summary)] <= MOST_ROWS
    for label in ("result", "protected", "time", "bytes", "run folder", "summary", "ledgers", "report", "audit"):
        assert f"\n{label} " in text, label
    assert len(shown(summary, columns, tmp_path, monkeypatch, verbose=True).splitlines()) > MOST_ROWS


def test_a_run_that_lost_a_party_takes_one_screen(tmp_path, monkeypatch) -> None:
    summary = read("sample_summary.json")
    summary["settings"]["key_bits"], summary["clipped"]["count"] = 3072, 0
    summary["settings"]["rounds"] += 1  # a rule ended it, so that no warning of a loss that still fell stands below
    lose_county(summary)
    text = shown(summary, 80, tmp_path, monkeypatch)
    assert len(text.splitlines()) + PROGRESS_ROWS["horizontal"] + LOST_ROWS <= MOST_ROWS
    assert "warning     Lost on the way: county in round 5. Four parties went on without it." in text
    assert "warning     Nobody compared the final model with county: nothing came from it." in text


def test_no_line_is_wider_than_the_terminal_and_names_steer_nothing(tmp_path, monkeypatch) -> None:
    summary = copy.deepcopy(read("sample_summary.json"))
    summary["results"][0]["name"] = "\x1b[31m[red]evil\nforged alone"
    summary["notes"].append("evil: \x1b[31m[bold]note")
    text = shown(summary, 40, tmp_path, monkeypatch)
    assert "\x1b" not in text
    for part in ("\\x1b[31m[red", "]evil\\x0afor", "evil: \\x1b[31m[bold]note"):
        assert part in text
    body = text[: text.index("\nrun folder")]
    assert max(len(line) for line in body.splitlines()) <= 40
