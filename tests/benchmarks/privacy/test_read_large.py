"""What is read of updates of a large net: everything without a mask, nothing where all is masked."""

from __future__ import annotations

import importlib
import itertools
from pathlib import Path
from typing import Any

import pytest

BENCHMARKS = Path(__file__).parents[3] / "benchmarks"


@pytest.mark.long
def test_shares_of_updates_are_read_as_far_as_they_are_visible(monkeypatch: pytest.MonkeyPatch) -> None:
    torch: Any = pytest.importorskip("torch", reason="needs hekat[torch]")
    pytest.importorskip("transformers", reason="needs hekat[lora]")
    pytest.importorskip("PIL", reason="needs hekat[report]")
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    monkeypatch.setattr(read := importlib.import_module("privacy.read_large"), "READ_ROWS", 2)
    monkeypatch.setattr(read, "MAP_ROWS", 3)
    dice = torch.Generator().manual_seed(read.SEED)
    rows, labels = torch.rand((5, 3, 32, 32), generator=dice), torch.tensor([3, 997, 5, 6, 7])
    found = read.measure(read.ResNet((1, 1), (16, 32)), rows, labels)
    assert [row["masked"] for row in found] == list(read.SHARES)
    assert (found[0]["labels_read"], found[0]["inputs_read"]) == (2, 1.0)
    assert (found[-1]["labels_read"], found[-1]["labels_wrong"], found[-1]["inputs_read"]) == (0, 0, 0.0)
    assert all(a["inputs_read"] >= b["inputs_read"] for a, b in itertools.pairwise(found))
