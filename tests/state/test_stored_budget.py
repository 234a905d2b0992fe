"""A privacy budget that version 1 wrote is read for ever: what was spent is not forgotten with an update of Hekat."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from hekat.privacy.accounting import Release
from hekat.state.privacy_budget import BudgetTerms, PrivacyBudget

pytest.importorskip("dp_accounting", reason="needs hekat[privacy]")

STORED = Path(__file__).parent / "history"
TERMS = BudgetTerms("patients", "row", "zero-out", 1e-5, limit=8.0)
RELEASE = Release(noise=4.0, sampling=1.0, value_count=100, party_count=3, std=50.0)


def test_a_stored_budget_is_read_and_charged_further(tmp_path: Path) -> None:
    for name in ("budget.v1", "budget.v1.head"):
        shutil.copy(STORED / name, tmp_path / name)
    budget = PrivacyBudget(tmp_path / "budget.v1", TERMS)
    assert budget.spent().release_count == 2
    after = budget.reserve(b"\x01" * 32, 3, RELEASE)
    assert (after.release_count, after.job_count) == (3, 2)
    before = (STORED / "budget.v1").read_bytes()
    assert (tmp_path / "budget.v1").read_bytes().startswith(before)
