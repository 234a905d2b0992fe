"""The benchmark of selective sums runs, and the page of selective sums shows what it stored."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
ROWS = json.loads((ROOT / "benchmarks" / "results" / "selective.json").read_text(encoding="utf-8"))["rows"]


def test_it_checks_its_results_and_prints_a_row_for_each_mask(monkeypatch, capsys) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    from privacy import bench_selective

    monkeypatch.setattr(sys, "argv", ["bench_selective.py", "--values", "3000", "--no-write"])
    bench_selective.main()
    assert len(re.findall(r"^(?:0\.\d|1) ", capsys.readouterr().out, re.MULTILINE)) == 4


def test_the_page_shows_the_stored_rows() -> None:
    page = (ROOT / "docs" / "how_to" / "selective.md").read_text(encoding="utf-8").replace("*", "")
    shown = [
        [cell.strip() for cell in line.split("|")[1:-1]]
        for line in page.splitlines()
        if re.match(r"\| (0\.|all)", line)
    ]
    assert len(shown) == len(ROWS) == 4
    for (name, *cells), row in zip(shown, ROWS, strict=True):
        assert name == ("all" if row["masked"] == 1 else str(row["masked"]))
        stored = [
            row[key] for key in ("upload_mb", "to_float32", "download_mb", "send_s", "add_s", "write_s", "read_s")
        ]
        assert [float(cell) for cell in cells] == pytest.approx(stored, abs=0.006)
