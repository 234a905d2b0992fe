"""What the document of set intersection shows is what comes out, and its figures are those that were measured."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
TEXT = (ROOT / "docs" / "explanation" / "set_intersection.md").read_text(encoding="utf-8")


def test_the_example_prints_what_it_says(capsys: pytest.CaptureFixture[str]) -> None:
    code, shown = re.search(r"```python\n(.*?)```\n\nprints\n\n```\n(.*?)```", TEXT, re.DOTALL).groups()
    exec(compile(code, "set_intersection.md", "exec"), {})
    assert capsys.readouterr().out == shown


def test_figures_of_a_million_ids_are_those_of_the_results() -> None:
    content = json.loads((ROOT / "benchmarks" / "results" / "psi-1000000.json").read_text())
    row = content["rows"][0]
    for figure in (f"{row['processor_s']:.0f} s", f"{row['wall_s']:.0f} s", f"{content['peak_mib']} MiB"):
        assert f"| {figure} |" in TEXT
