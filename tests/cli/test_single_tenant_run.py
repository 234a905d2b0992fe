"""A site that says nobody else is on its machine: the run uses it, and ledger, summary and report say so."""

from __future__ import annotations

import json

import pytest

from hekat.engine.tenancy import is_single_tenant

TABLES = "randomiser tables: plain look-ups (single tenant)"


@pytest.fixture
def one_round(workplace, monkeypatch):
    monkeypatch.delenv("HEKAT_SINGLE_TENANT", raising=False)
    workplace.edit("job.toml", "rounds = 2", "rounds = 1")
    return workplace


def words_of(workplace) -> tuple[dict[str, object], str, str]:
    """The summary, the audits and the report of the one run that is there."""
    (folder,) = workplace.folders()
    audits = workplace.call("audit", folder).out
    return json.loads((folder / "summary.json").read_text()), audits, (folder / "report.html").read_text()


def test_the_site_says_so(one_round) -> None:
    one_round.edit("site.toml", r"\[policy\]", "[machine]\nsingle_tenant = true\n[policy]")
    answer = one_round.run()
    assert answer.code == 0, answer.err
    summary, audits, report = words_of(one_round)
    assert summary["engine"]["randomiser tables"] == "plain look-ups (single tenant)"
    assert any(note.startswith(TABLES) for note in summary["notes"])
    # Of three parties that encrypt, and an aggregator that does not.
    assert audits.count(TABLES) == 3
    assert TABLES.capitalize() in report
    assert not is_single_tenant()


@pytest.mark.parametrize("site", ["", "[machine]\nsingle_tenant = true\n"])
def test_a_run_among_other_tenants_says_nothing_of_it(one_round, monkeypatch, site) -> None:
    """By default, and where the variable overrules the site."""
    if site:
        monkeypatch.setenv("HEKAT_SINGLE_TENANT", "0")
    one_round.edit("site.toml", r"\[policy\]", site + "[policy]")
    assert one_round.run().code == 0
    summary, audits, report = words_of(one_round)
    assert summary["engine"]["randomiser tables"] == "read whole, in constant time"
    assert not any("single tenant" in text for text in (*summary["notes"], audits, report))


def test_doctor_says_so(workplace, monkeypatch) -> None:
    monkeypatch.setenv("HEKAT_SINGLE_TENANT", "1")
    monkeypatch.setenv("HEKAT_TABLE_MIB", "77")
    findings = json.loads(workplace.call("doctor", "--json").out)
    assert findings["active engine"]["randomiser tables"] == "plain look-ups (single tenant)"
    assert (findings["variables"]["HEKAT_SINGLE_TENANT"], findings["variables"]["HEKAT_TABLE_MIB"]) == ("1", "77")
    assert " MiB at most (" in findings["active engine"]["table memory"]
    monkeypatch.setenv("HEKAT_SINGLE_TENANT", "si")
    answer = workplace.call("doctor")
    assert answer.code == 2
    assert "HEKAT_SINGLE_TENANT is neither yes nor no" in answer.out
