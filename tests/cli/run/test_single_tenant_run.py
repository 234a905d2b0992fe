"""A site that says nobody else is on its machine: the run uses it, and ledger, summary and report say so."""

from __future__ import annotations

import json
from functools import cache

import pytest

from hekat.engine import select
from hekat.engine.cpu import CpuEngine
from hekat.engine.tenancy import declare_tenancy, is_single_tenant

TABLES = "randomiser tables: plain look-ups (single tenant)"


@pytest.fixture
def one_round(workplace, monkeypatch):
    monkeypatch.delenv("HEKAT_SINGLE_TENANT", raising=False)
    workplace.use_paillier()
    workplace.shorten()
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


def test_parties_of_one_process_share_tables(one_round, monkeypatch) -> None:
    """Five of them, where the memory holds a few tables of one key and not those of five."""
    monkeypatch.setenv("HEKAT_TABLE_MIB", "8")
    monkeypatch.setattr(select, "_instance", cache(select._instance.__wrapped__))
    made = []

    class CountingEngine(CpuEngine):
        def fixed_base_table(self, *arguments, **options):
            made.append(super().fixed_base_table(*arguments, **options))
            return made[-1]

    monkeypatch.setitem(select._MAKERS, "cpu", lambda alone: CountingEngine(single_tenant=alone))
    one_round.edit("site.toml", r"\[policy\]", "[machine]\nsingle_tenant = true\n[policy]")
    one_round.edit("job.toml", '"south"', '"south", "west", "middle"')
    for party in ("west", "middle"):
        section = f'\n[party.{party}.data.visits]\nsource = "csv"\npath = "east.csv"\nlabel = "ill"\n'
        with (one_round.folder / "site.toml").open("a") as file:
            file.write(section)
    answer = one_round.run()
    assert answer.code == 0, answer.err
    # One that tries the memory; then for each prime one of randomisers, and one of blinding.
    assert len(made) == 5
    assert sum(not table.constant_time for table in made) == 3


def test_a_memory_too_small_is_refused_before_anything_starts(one_round, monkeypatch) -> None:
    """Of a key whose smallest table is above 1 MiB on every path of every processor."""
    monkeypatch.setenv("HEKAT_TABLE_MIB", "1")
    one_round.edit("job.toml", "key_bits = 2048", "key_bits = 4096")
    monkeypatch.setattr(select, "_instance", cache(select._instance.__wrapped__))
    answer = one_round.run()
    assert answer.code == 2
    assert "does not fit into the memory for tables" in answer.err
    assert "HEKAT_TABLE_MIB" in answer.err
    assert one_round.folders() == []


@pytest.mark.parametrize("theirs", [False, True])
def test_a_run_beside_one_of_the_other_kind_is_refused(one_round, theirs) -> None:
    """It would get that run's tables; nothing is written."""
    if not theirs:
        one_round.edit("site.toml", r"\[policy\]", "[machine]\nsingle_tenant = true\n[policy]")
    with declare_tenancy(theirs):
        answer = one_round.run()
    assert answer.code == 2
    assert "says the opposite of its machine" in answer.err
    assert one_round.folders() == []
    assert one_round.run().code == 0


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
