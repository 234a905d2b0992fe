"""The ways to open sums, through the command line: who takes part, what is said of them, what a run leaves."""

from __future__ import annotations

import json

import pytest

from hekat.protocol.horizontal.opening import ways


def choose(place, opening: str, *, site: str = "") -> None:
    authority = '\nauthority = "notary"' if opening == "authority" else ""
    place.edit("job.toml", 'kind = "lattice"', f'kind = "lattice"\nopening = "{opening}"{authority}')
    place.edit("site.toml", r"\[policy\]", f'{site}\n[policy]\nopenings = ["committee", "authority", "shared"]')


def run_and_read(place):
    answer = place.run("--json")
    assert answer.code == 0, answer.err
    (folder,) = place.folders()
    return json.loads(answer.out), (folder / "report.html").read_text(), folder


def test_a_committee_of_three(workplace) -> None:
    summary, page, folder = run_and_read(workplace)
    settings = summary["settings"]
    assert (settings["opening"], settings["openers"]) == ("committee", ["north", "east", "south"])
    assert (settings["openers_needed"], settings["parameter_set"]) == (3, "A16-16")
    assert settings["security"] == (
        "about 140 bits classical by the lattice estimator (MATZOV), about 113 to 115 by core-SVP"
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


def test_an_authority(workplace) -> None:
    choose(workplace, "authority", site='[party.notary]\nstate = "notary.s"')
    summary, page, folder = run_and_read(workplace)
    assert summary["settings"]["openers"] == ["notary"]
    assert any("the key authority notary opens the sums" in note for note in summary["notes"])
    assert "key authority, opens sums" in page
    assert (folder / "ledger" / "notary.jsonl").exists()
    assert (workplace.folder / "notary.s" / "releases.record").exists()
    assert "notary" in json.loads((folder / "parties.json").read_text())
    assert workplace.call("audit", folder).code == 0
    assert "notary" in summary["bytes"]["by_role"]


def test_a_shared_key(workplace) -> None:
    choose(workplace, "shared")
    summary, page, folder = run_and_read(workplace)
    assert any("all parties share one key" in note for note in summary["notes"])
    assert "makes the shared key" in page
    assert workplace.call("audit", folder).code == 0


def test_two_parties_where_both_accept_it(workplace) -> None:
    workplace.edit("job.toml", r"parties = .*", 'parties = ["north", "east"]\nallow_two_parties = true')
    summary, _, _ = run_and_read(workplace)
    assert summary["settings"]["openers_needed"] == 2
    assert "with two parties each learns the other's update from every sum" in summary["notes"]


@pytest.mark.parametrize("opening", ["committee", "authority", "shared"])
def test_no_secret_of_a_run_in_what_it_leaves(opening, workplace, monkeypatch) -> None:
    """Neither a round's secret, nor a seed, nor a share, in any file: the aggregator's ledger least of all."""
    secrets: list[bytes] = []

    def keep(way):
        deal = way.deal

        def deal_and_keep(self, *arguments):
            dealt = deal(self, *arguments)
            secrets.extend([dealt.secret.coefficients.tobytes(), *dealt.messages.values()])
            return dealt

        monkeypatch.setattr(way, "deal", deal_and_keep)

    for way in (ways.CommitteeWay, ways.AuthorityWay, ways.SharedWay):
        keep(way)
    choose(workplace, opening)
    _, _, folder = run_and_read(workplace)
    assert len(secrets) >= 3 * 2
    parts = [secret[start : start + 16] for secret in secrets for start in (0, len(secret) // 2)]
    for path in folder.rglob("*"):
        if path.is_file():
            content = path.read_bytes()
            assert not any(part in content or part.hex().encode() in content for part in parts), path.name
