"""The example runs as its document shows it, and prints the same mean by both schemes."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "examples" / "fedml_he.py"


def test_the_document_shows_the_file_that_runs() -> None:
    text = (ROOT / "docs" / "how_to" / "fedml_he.md").read_text(encoding="utf-8")
    assert re.findall(r"```python\n(.*?)```", text, re.DOTALL) == [EXAMPLE.read_text(encoding="utf-8")]


@pytest.mark.long
def test_the_example_prints_the_weighted_mean_twice(run_example) -> None:
    pytest.importorskip("tenseal", reason="needs hekat[ckks]")
    out = run_example(EXAMPLE.name)
    means = [float(found) for found in re.findall(r"0\.\d+", out)]
    assert len(means) == 12
    assert means == pytest.approx([0.17] * 12, abs=1e-3)
    assert out.count("'steps': array(9)") == 2
