"""A site's privacy budgets bind a loop of one's own: charged before anything leaves, and exact sums refused."""

from __future__ import annotations

import doctest
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import hekat
from hekat.channel import PartyPublicKey
from hekat.errors import BudgetError, InputError, JobError, PolicyError, ProtocolError
from hekat.job.granted_budgets import granted_budget, site_budgets
from hekat.job.site_file import load_site
from hekat.ledger.audit import AuditReport, audit_bytes
from hekat.ledger.ledger_files import find_ledgers, name_of_ledger, read_ledger
from hekat.own_loop import Party
from hekat.privacy import ClippedRows, MaskRules, SensitivityMap
from hekat.privacy.accounting import Release
from hekat.state.privacy_budget import PrivacyBudget

pytest.importorskip("dp_accounting", reason="needs hekat[privacy]")

PARTIES = ["north", "lake", "county"]
ROWS = ClippedRows({"w": np.ones(3)}, 1.0, 20)
OTHER_ROWS = ClippedRows({"w": np.ones(4)}, 1.0, 20)


def write_site(folder: Path, *, limit: float = 1.0, policy: str = "", more: str = "", parties=PARTIES) -> Path:
    """At z = 4 and delta 1e-4 one sum costs epsilon 0.87, two cost 1.27."""
    grants = [
        f"[party.{name}]\nstate = 'state/{name}'\n[party.{name}.privacy]\ndata_set = 'patients'\n"
        f"epsilon = {limit}\ndelta = 1e-4\n{more}"
        for name in parties
    ]
    (folder / "site.toml").write_text("\n".join(["format = 1", f"[policy]\n{policy}", *grants]))
    return folder / "site.toml"


def noised(party, calls: int = 1, part=ROWS):
    divisor = 60 if isinstance(part, ClippedRows) else None
    return [party.aggregate_private(part, clip=1.0, noise=4.0, delta=1e-4, divisor=divisor) for _ in range(calls)][-1]


def run(site: Path, code: Callable, folder: Path | None = None):
    return hekat.federate(code, PARTIES, budgets=site_budgets(site), folder=folder)


def releases(site: Path) -> list[int]:
    found = load_site(site)
    return [granted_budget(found, party).spent().release_count for party in PARTIES]


def audited(folder: Path) -> dict[str, AuditReport]:
    keys = json.loads((folder / "parties.json").read_text())
    return {
        name_of_ledger(path): audit_bytes(read_ledger(path), PartyPublicKey.from_line(keys[name_of_ledger(path)]))
        for path in find_ledgers(folder / "ledger")
    }


def test_every_call_is_charged_over_runs_until_the_budget_is_spent(tmp_path: Path) -> None:
    site = write_site(tmp_path, limit=1.4)
    for number in (1, 2):
        outcome = run(site, noised, tmp_path / f"run-{number}")
        # Of the loop's own calls; the budget knows the earlier run too.
        assert outcome.results["lake"].epsilon == pytest.approx(0.87, abs=0.01)
        assert releases(site) == [number] * 3
        privacy = audited(tmp_path / f"run-{number}")["lake"].privacy
        assert privacy is not None
        assert privacy.charged[0].epsilon == outcome.results["lake"].epsilon
        assert (privacy.sent_count, privacy.exact_count, privacy.limit) == (1, 0, 1.4)
    assert privacy.spent == pytest.approx(1.27, abs=0.01)
    with pytest.raises(BudgetError, match="the privacy budget of data set 'patients' is spent: round 1 would pass"):
        run(site, noised)
    assert releases(site) == [2, 2, 2]


def test_a_call_beyond_the_limit_sends_nothing(tmp_path: Path) -> None:
    site, folder = write_site(tmp_path), tmp_path / "run"
    with pytest.raises(BudgetError, match="round 2 would pass the limit"):
        run(site, lambda party: noised(party, 2), folder)
    assert releases(site) == [1, 1, 1]
    for name, report in audited(folder).items():
        if name in PARTIES:
            assert report.privacy is not None
            assert report.privacy.sent_count == len(report.privacy.charged) == 1
            assert report.privacy.exact_count == 0


def test_a_call_is_on_the_disk_before_its_first_block_leaves(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    site, found = write_site(tmp_path), {}
    honest = Party._sum

    def watched(self, *arguments):
        found[self.name] = granted_budget(load_site(site), self.name).spent().release_count
        return honest(self, *arguments)

    monkeypatch.setattr(Party, "_sum", watched)
    run(site, noised)
    assert found == dict.fromkeys(PARTIES, 1)


DIFFERING = {
    "noise": lambda party: party.aggregate_private(
        ROWS, clip=1.0, noise=5.0 if party.name == "lake" else 4.0, delta=1e-4, divisor=60
    ),
    "shape": lambda party: noised(party, part=OTHER_ROWS if party.name == "lake" else ROWS),
    "call": lambda party: EXACT["a mean"](party) if party.name == "lake" else noised(party),
}


@pytest.mark.parametrize("name", DIFFERING)
def test_a_call_that_the_comparison_refuses_costs_nothing(name: str, tmp_path: Path) -> None:
    site = write_site(tmp_path, limit=8.0, policy="budget_waiver = true")
    with pytest.raises(ProtocolError, match=r"all parties|no sum was opened|do not call for the same"):
        run(site, DIFFERING[name])
    assert releases(site) == [0, 0, 0]


def test_a_party_whose_budget_is_spent_costs_the_others_nothing(tmp_path: Path) -> None:
    site = write_site(tmp_path)
    budget = granted_budget(load_site(site), "lake")
    release = Release(noise=1.0, sampling=1.0, std=1e6, value_count=3, party_count=3)
    with pytest.raises(BudgetError):
        budget.check_ahead([release])
    # Spent by another job meanwhile, under a limit that was higher.
    PrivacyBudget.in_folder(tmp_path / "state/lake", replace(budget.terms, limit=100.0)).reserve(b"job", 1, release)
    with pytest.raises(BudgetError, match="round 1 would pass the limit"):
        run(site, noised)
    assert releases(site) == [0, 1, 0]


def _map(party):
    return party.agree_on_mask(SensitivityMap({"w": np.ones(3)}, 4, "random"), MaskRules(0.5), weight=4)


EXACT = {
    "a mean": lambda party: party.aggregate({"w": np.ones(3)}, weight=1),
    "a sum": lambda party: party.sum({"n": np.ones(3, np.int64)}, maximum=1),
    "a map": _map,
}


@pytest.mark.parametrize("name", EXACT)
def test_sums_without_noise_of_these_rows_are_refused(name: str, tmp_path: Path) -> None:
    site, folder = write_site(tmp_path), tmp_path / "run"
    with pytest.raises(PolicyError, match="the rows of north have a privacy budget, and this is without noise"):
        run(site, EXACT[name], folder)
    assert not any(one.kind == "loop/call" for report in audited(folder).values() for one in report.learned)


def test_rows_of_a_party_without_a_budget_are_summed_exactly_and_the_others_refuse(tmp_path: Path) -> None:
    site = write_site(tmp_path, parties=["lake"])
    with pytest.raises(PolicyError, match="the rows of lake have a privacy budget"):
        run(site, EXACT["a mean"])
    assert run(site, noised).results["north"].epsilon > 0


def test_a_waived_budget_is_named_in_notes_and_ledgers(tmp_path: Path) -> None:
    site, folder = write_site(tmp_path, policy="budget_waiver = true"), tmp_path / "run"

    def play(party):
        noised(party)
        return [EXACT["a mean"](party) for _ in range(2)]

    outcome = run(site, play, folder)
    assert sum("BUDGET WAIVED at lake: policy.budget_waiver" in note for note in outcome.notes) == 1
    privacy = audited(folder)["lake"].privacy
    assert privacy is not None
    assert len(privacy.waived) == 1
    # Bounds of clipping follow from exact counts: one such sum before each mean.
    assert (privacy.sent_count, privacy.exact_count) == (1, 4)


@pytest.mark.parametrize(
    ("more", "part", "key"),
    [
        ("unit = 'party'\n", ROWS, "unit"),
        ("neighbours = 'replace-one'\n", ROWS, "neighbours"),
        ("", {"w": np.ones(3)}, "unit"),
        ("colluders = 2\n", ROWS, "colluders"),
    ],
)
def test_a_budget_of_another_kind_is_refused(more: str, part, key: str, tmp_path: Path) -> None:
    site = write_site(tmp_path, more=more)
    with pytest.raises(PolicyError, match=f"the loop's {key} is (not the one of|less than) north's budget"):
        run(site, lambda party: noised(party, part=part))
    assert releases(site) == [0, 0, 0]


def test_a_budget_by_whose_delta_a_row_may_show_whole_is_refused(tmp_path: Path) -> None:
    site = write_site(tmp_path)
    site.write_text(site.read_text().replace("delta = 1e-4", "delta = 0.05"))
    with pytest.raises(PolicyError, match=r"the delta of north's budget is too large.*\[party\.north\.privacy\]"):
        run(site, noised)
    assert releases(site) == [0, 0, 0]


def test_budgets_that_bind_nobody_are_refused(tmp_path: Path) -> None:
    for parties in (["elsewhere"], []):
        with pytest.raises(InputError, match="argument budgets"):
            run(write_site(tmp_path, parties=parties), noised)
    with pytest.raises(InputError, match="argument budgets"):
        hekat.federate(noised, PARTIES, budgets={"north": 8.0})  # type: ignore[arg-type]
    site = write_site(tmp_path)
    site.write_text(site.read_text().replace("state = 'state/lake'", ""))
    with pytest.raises(JobError, match="the privacy budget of lake has no place that outlasts runs"):
        site_budgets(site)


def test_the_example_reads_a_site_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    found = doctest.DocTestFinder(recurse=False).find(hekat.site_budgets, "site_budgets", globs={})
    assert [doctest.DocTestRunner(verbose=False).run(test).failed for test in found] == [0]
