"""The examples run as their document shows them, and print the means that they should."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "examples" / "fedml_he.py"
SELECTIVE = ROOT / "examples" / "fedml_he_selective.py"


def test_the_document_shows_the_files_that_run() -> None:
    text = (ROOT / "docs" / "how_to" / "fedml_he.md").read_text(encoding="utf-8")
    assert re.findall(r"```python\n(.*?)```", text, re.DOTALL) == [
        EXAMPLE.read_text(encoding="utf-8"),
        SELECTIVE.read_text(encoding="utf-8"),
    ]


def test_the_example_with_a_mask_opens_the_mean(run_example) -> None:
    out = run_example(SELECTIVE.name)
    assert "348 of them IN THE CLEAR" in out
    assert out.endswith("True\n")


@pytest.mark.long
def test_the_example_prints_the_weighted_mean_twice(run_example) -> None:
    pytest.importorskip("tenseal", reason="needs hekat[ckks]")
    out = run_example(EXAMPLE.name)
    means = [float(found) for found in re.findall(r"0\.\d+", out)]
    assert len(means) == 12
    assert means == pytest.approx([0.17] * 12, abs=1e-3)
    assert out.count("'steps': array(9)") == 2
