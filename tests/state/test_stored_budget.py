"""Privacy budgets of every version are read for ever: what was spent is not forgotten with an update of Hekat."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from hekat.errors import StateError
from hekat.privacy.accounting import Release
from hekat.state.privacy_budget import BudgetTerms, PrivacyBudget

pytest.importorskip("dp_accounting", reason="needs hekat[privacy]")

STORED = Path(__file__).parent / "history"
TERMS = BudgetTerms("patients", "row", "zero-out", 1e-5, limit=8.0)
RELEASE = Release(noise=4.0, sampling=1.0, value_count=100, party_count=3, std=50.0)


def _copy(stored: str, folder: Path) -> Path:
    for name in (stored, f"{stored}.head"):
        shutil.copy(STORED / name, folder / name)
    return folder / stored


@pytest.mark.parametrize(
    ("stored", "terms"),
    [("budget.v1", TERMS), ("budget.v2", replace(TERMS, colluders=4)), ("budget.v2-usual", TERMS)],
    ids=["v1", "v2", "v2-usual"],
)
def test_a_stored_budget_is_read_and_charged_further(stored: str, terms: BudgetTerms, tmp_path: Path) -> None:
    budget = PrivacyBudget(_copy(stored, tmp_path), terms)
    assert budget.spent().release_count == 2
    after = budget.reserve(b"\x01" * 32, 3, RELEASE)
    assert (after.release_count, after.job_count) == (3, 2)
    assert (tmp_path / stored).read_bytes().startswith((STORED / stored).read_bytes())


def test_claims_from_before_sites_asked_for_colluders_do_not_count_against_so_many(tmp_path: Path) -> None:
    budget = PrivacyBudget(_copy("budget.v1", tmp_path), replace(TERMS, colluders=4))
    with pytest.raises(StateError, match="other terms") as refused:
        budget.spent()
    assert refused.value.got.endswith("colluders not said")
