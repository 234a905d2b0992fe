"""Every mutant fits the tree: its file is there, its line changes it, and there are tests that have to find it."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.mutants.mutant import read_mutants

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("mutant", read_mutants(), ids=lambda mutant: mutant.id)
def test_a_mutant_fits_the_tree(mutant):
    text = mutant.text(mutant.place(ROOT))
    if mutant.place(ROOT).suffix == ".py":
        compile(text, mutant.id, "exec")
    assert any(name == "native" or (ROOT / name).exists() for name in mutant.tests)
