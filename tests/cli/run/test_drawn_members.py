"""`hekat run` with more parties than members: who they are is drawn, and said where that is known."""

from __future__ import annotations

import json
import shutil

import numpy as np
import pytest

import hekat

NAMES = ("north", "east", "south", "west", "middle", "coast", "hills", "lake", "plain")


@pytest.fixture
def nine(five):
    """Nine parties with state folders of their own, one round and no sums beside it: the members open each alike."""
    five.edit("job.toml", r'"west", "middle"', ", ".join(f'"{name}"' for name in NAMES[3:]))
    five.shorten()
    five.edit("job.toml", "rounds = 3", "rounds = 1")
    five.edit("job.toml", "exactness = true", "exactness = false")
    five.edit("site.toml", r"^\[party\.north\]\n", "")
    five.edit("site.toml", r"^paillier_key.*\n", "")
    with (five.folder / "site.toml").open("a") as file:
        for number, name in enumerate(NAMES):
            if number >= 5:
                shutil.copy(five.folder / "north.csv", five.folder / f"{name}.csv")
                file.write(f'\n[party.{name}.data.visits]\nsource = "csv"\npath = "{name}.csv"\nlabel = "ill"\n')
            file.write(f'\n[party.{name}]\nstate = "states/{name}"\n')
    return five


@pytest.mark.long
def test_who_is_drawn_is_told_after_the_draw_and_not_before(nine) -> None:
    planned = json.loads(nine.run("--dry-run", "--json").out)
    assert "7 of 9 parties, drawn when the run begins" in planned["protections"][0]["detail"]
    shown = nine.call("job", "show", nine.folder / "job.toml").out
    assert "by 5 of 7 members, 7 of 9 parties, drawn when the run begins" in shown
    assert not (nine.folder / "states" / "north").exists()
    answer = nine.run()
    assert answer.code == 0, answer.err
    (first,) = nine.folders()
    summary = json.loads((first / "summary.json").read_text())
    openers = summary["settings"]["openers"]
    assert len(openers) == 7
    assert openers == [name for name in NAMES if name in openers]
    assert "5 of 7 committee members of 9 parties open each sum" in " ".join(summary["notes"])
    assert f"members of the committee: {', '.join(openers)}" in (first / "ledger" / "lake.jsonl").read_text()
    audit = nine.call("audit", first)
    assert audit.code == 0, audit.out
    for name in NAMES:
        (record,) = (nine.folder / "states" / name).glob("members-*")
        assert [line[7:] for line in record.read_text().split("\n") if line.startswith("member ")] == openers


@pytest.mark.long
def test_a_run_that_is_resumed_keeps_the_committee(nine) -> None:
    nine.edit("job.toml", "rounds = 1", "rounds = 2")
    lost = [option for name in NAMES[5:] for option in ("--lose", f"{name}:2")]
    assert nine.run(*lost).code == 2
    (stopped,) = nine.folders()
    answer = nine.run("--resume", stopped, "--json")
    assert answer.code == 0, answer.err
    openers = json.loads(answer.out)["settings"]["openers"]
    assert f"members of the committee: {', '.join(openers)}" in (stopped / "ledger" / "north.jsonl").read_text()


def test_a_policy_that_the_draw_does_not_keep_ends_the_run_before_anything_is_dealt(nine) -> None:
    """Seven of nine are allowed, and another seven are drawn, or, with one chance in 36, these: then it runs."""
    allowed = ", ".join(f'"{name}"' for name in NAMES[:7])
    nine.edit("site.toml", r"^\[policy\]", f"[policy]\ncommittee_members = [{allowed}]")
    answer = nine.run()
    record = next((nine.folder / "states" / "north").glob("members-*")).read_text()
    drawn = [line[7:] for line in record.split("\n") if line.startswith("member ")]
    (folder,) = nine.folders()
    dealt = "horizontal/dealt" in (folder / "ledger" / "hub.jsonl").read_text()
    strangers = [name for name in drawn if name in NAMES[7:]]
    assert (answer.code, dealt) == ((2, False) if strangers else (0, True))
    assert all(name in answer.err for name in strangers)


def test_a_comparison_draws_no_members_that_the_site_does_not_allow(nine, monkeypatch) -> None:
    """It draws a committee of its own, whose members open sums of the same rows."""

    def drawn(settings, *said) -> tuple[str, ...]:
        return NAMES[2:] if settings.codec.value_bits == 12 else NAMES[:7]

    monkeypatch.setattr("hekat.protocol.secure_sum.masked.draw_members.members_of", drawn)
    allowed = ", ".join(f'"{name}"' for name in NAMES[:7])
    nine.edit("site.toml", r"^\[policy\]", f"[policy]\ncommittee_members = [{allowed}]")
    nine.edit("job.toml", r"^\[protection\]", "[compare]\nbits = [12]\n\n[protection]")
    answer = nine.run()
    assert answer.code == 2
    assert "lake, plain not in policy.committee_members" in " ".join(answer.err.split())
    refused = json.loads(nine.call("audit", nine.folder / "states" / "north", "--party", "north", "--json").out)[
        "refused"
    ]
    assert [line["line"] for line in refused] == ["policy.committee_members"]


def test_too_few_allowed_parties_are_refused_before_anything_is_written(nine) -> None:
    nine.edit("site.toml", r"^\[policy\]", '[policy]\ncommittee_members = ["north", "east"]')
    answer = nine.run()
    assert (answer.code, nine.runs.exists()) == (2, False)
    assert "policy.committee_members" in answer.err


@pytest.mark.long
def test_an_own_loop_draws_its_members(tmp_path) -> None:
    found = hekat.federate(lambda party: party.aggregate({"w": np.ones(3)}, weight=2), NAMES, folder=tmp_path / "loop")
    assert set(found.results) == set(NAMES)
    records = [next((tmp_path / "loop" / "state" / name).glob("members-*")).read_text() for name in NAMES]
    drawn = [tuple(line for line in text.split("\n") if line.startswith("member ")) for text in records]
    assert len(set(drawn)) == 1
    assert len(drawn[0]) == 7
