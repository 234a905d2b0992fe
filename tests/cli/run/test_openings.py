"""The ways to open sums, through the command line: who takes part, what is said of them, what a run leaves."""

from __future__ import annotations

import json

import pytest


def run_and_read(place):
    answer = place.run("--json")
    assert answer.code == 0, answer.err
    (folder,) = place.folders()
    return json.loads(answer.out), (folder / "report.html").read_text(), folder


@pytest.mark.long
def test_a_committee_of_three(workplace) -> None:
    summary, page, folder = run_and_read(workplace)
    settings = summary["settings"]
    assert (settings["opening"], settings["openers"]) == ("committee", ["north", "east", "south"])
    assert (settings["openers_needed"], settings["parameter_set"]) == (3, "A16-4")
    assert settings["security"] == (
        "at least about 140 bits classical by the lattice estimator (MATZOV), about 113 to 115 by core-SVP"
    )
    assert "key_bits" not in settings
    assert not any("Paillier" in note for note in summary["notes"])
    assert any(
        note.startswith("no key opens an update: 3 of 3 committee members")
        and note.endswith("none of them may be lost. This holds against the aggregator together with up to 1 party")
        for note in summary["notes"]
    )
    assert any("no review from outside" in note for note in summary["notes"])
    assert settings["security"] in page
    assert workplace.call("audit", folder).code == 0


@pytest.mark.long
def test_an_authority(workplace) -> None:
    workplace.open_by("authority", site='[party.notary]\nstate = "notary.s"')
    summary, page, folder = run_and_read(workplace)
    assert summary["settings"]["openers"] == ["notary"]
    assert any("the key authority notary opens the sums" in note for note in summary["notes"])
    assert "key authority, opens sums" in page
    assert (folder / "ledger" / "notary.jsonl").exists()
    assert (workplace.folder / "notary.s" / "releases.record").exists()
    assert "notary" in json.loads((folder / "parties.json").read_text())
    assert workplace.call("audit", folder).code == 0
    assert "notary" in summary["bytes"]["by_role"]


@pytest.mark.long
def test_a_shared_key(workplace) -> None:
    workplace.open_by("shared")
    summary, page, folder = run_and_read(workplace)
    assert any("all parties share one key" in note for note in summary["notes"])
    assert "makes the shared key" in page
    assert workplace.call("audit", folder).code == 0


def test_two_parties_where_both_accept_it(workplace) -> None:
    workplace.edit("job.toml", r"parties = .*", 'parties = ["north", "east"]\nallow_two_parties = true')
    summary, _, _ = run_and_read(workplace)
    assert summary["settings"]["openers_needed"] == 2
    assert "with two parties each learns the other's update from every sum" in summary["notes"]
