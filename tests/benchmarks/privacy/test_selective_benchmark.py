"""The benchmark of selective sums checks every mean and prints a row for each mask, and one for plain float32."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

BENCHMARKS = Path(__file__).parents[3] / "benchmarks"


@pytest.fixture
def selective(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    from privacy import bench_selective

    monkeypatch.setattr(sys, "argv", ["bench_selective.py", "--values", "3000", "--turns", "1", "--no-write"])
    return bench_selective


def test_each_mask_and_plain_float32_have_a_row(selective: Any, capsys: pytest.CaptureFixture[str]) -> None:
    selective.main()
    found = capsys.readouterr().out
    assert re.findall(r"^(0\.\d|[01]) ", found, re.MULTILINE) == ["0", "0.1", "0.3", "0.5", "1"]
    assert re.search(r"^ +3000 +3000 +0 +1 ", found, re.MULTILINE)


def test_a_mean_that_differs_is_not_timed(selective: Any) -> None:
    values = np.ones(3000, np.float32)
    with pytest.raises(AssertionError):
        selective.measure(values, 0.5, values + 1, 1)
