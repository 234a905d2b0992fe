"""A party is lost in the middle of a round: the run finishes right, says so everywhere, and can be audited."""

from __future__ import annotations

import json
import re
from dataclasses import replace

import pytest

from hekat.protocol.horizontal.training import loop as training

PARTIES = ["north", "east", "south", "west", "middle"]


def run_and_read(place, *options):
    """The answer, the summary and the folder of a run that finishes."""
    answer = place.run(*options)
    assert answer.code == 0, answer.err
    folder = place.folders()[-1]
    return answer, json.loads((folder / "summary.json").read_text()), folder


@pytest.mark.long
@pytest.mark.parametrize("party", ["north", pytest.param("south", marks=pytest.mark.long), "middle"])
def test_a_run_goes_on_without_one_party(party, five) -> None:
    """The first party, one in between and the last one."""
    answer, summary, folder = run_and_read(five, "--lose", f"{party}:2")
    left = [name for name in PARTIES if name != party]
    assert f"{party} is lost in step round-2/upload-" in answer.out
    assert "Lost on the way" in answer.out
    (loss,) = summary["lost"]
    assert (loss["party"], loss["round"]) == (party, 2)
    assert loss["reason"] == "left in the middle of round-2, as was asked for"
    assert summary["included"] == [
        {"first": 1, "last": 1, "parties": PARTIES},
        {"first": 2, "last": 3, "parties": left},
    ]
    # Right: each mean within its stated bound of the mean of floats of those who are in it.
    assert [check["step"] for check in summary["exactness"]][-3:] == ["round-1", "round-2", "round-3"]
    assert all(check["largest_error"] <= check["bound"] for check in summary["exactness"])
    assert [entry["values"] for entry in summary["rounds"]["encrypted"]] == [20, 16, 16]
    # What the lost party sent and worked until then is told too.
    assert 0 < summary["bytes"]["by_role"][party]["sent"] < summary["bytes"]["by_role"][left[0]]["sent"]
    assert sum(summary["seconds_by_role"][party].values()) > 0
    events = [json.loads(line) for line in (folder / "events.jsonl").read_text().splitlines()]
    assert [event["party"] for event in events if event["event"] == "lost"] == [party]
    page = (folder / "report.html").read_text()
    assert f"Lost on the way: {party} in round 2. Four parties went on without it." in page
    assert "party, member of the committee, lost in round 2" in page


@pytest.mark.long
def test_the_audit_of_a_run_with_a_loss(five) -> None:
    five.shorten()
    _, _, folder = run_and_read(five, "--lose", "middle:2")
    answer = five.call("audit", folder)
    assert answer.code == 0
    assert answer.out.rstrip().splitlines()[-1] == (
        "NOTE: middle left before the end (stopped: ChannelError) and signed its ledger then"
    )
    content = json.loads(five.call("audit", folder, "--json").out)
    assert (content["missing"], content["unsigned"]) == ([], [])
    assert len(content["reconciled"]) == 15
    assert all(found["agrees"] for found in content["reconciled"])
    assert {ledger["party"]: ledger["signed"] for ledger in content["ledgers"]} == dict.fromkeys(
        [*PARTIES, "hub"], True
    )


@pytest.mark.long
def test_an_audit_tells_a_line_that_a_lost_party_left_out_of_its_ledger(five) -> None:
    """Cut to before its end, the ledger is not signed; rounds before the loss that it does not have are told."""
    five.shorten()
    _, _, folder = run_and_read(five, "--lose", "middle:3")
    path = folder / "ledger" / "middle.jsonl"
    lines = path.read_text().splitlines(keepends=True)
    path.write_text("".join(lines[: len(lines) // 2]))
    answer = five.call("audit", folder)
    assert answer.code == 1
    assert "NOT SIGNED: the ledger of middle" in answer.out
    assert re.search(r"middle to hub, step 'round-\d/upload-\d+/\w+': received \(line \d+\) and never sent", answer.out)


@pytest.mark.long
def test_a_run_without_a_loss_does_not_speak_of_one(five) -> None:
    five.shorten()
    answer, summary, folder = run_and_read(five)
    assert (summary["lost"], [entry["parties"] for entry in summary["included"]]) == ([], [PARTIES])
    assert "Lost on the way" not in answer.out + (folder / "report.html").read_text()
    assert "NOTE" not in five.call("audit", folder).out


@pytest.mark.long
def test_two_losses_end_the_run_and_it_goes_on_when_they_are_back(five) -> None:
    five.shorten()
    answer = five.run("--lose", "south:2", "--lose", "west:3")
    assert answer.code == 2
    lines = answer.err.splitlines()
    assert lines[0].startswith("error: party 'hub' stopped in step 'round-3/upload-")
    told = {line.split(":")[0].strip(): line for line in lines[1:]}
    assert "too few parties are left for round-3" in told["because"]
    assert "at least 4 of 5" in told["expected"]
    assert "south" in told["got"]
    assert "west" in told["got"]
    assert "resume from the last checkpoint" in told["cure"]
    assert "checkpoint of round 2" in told["saved"]
    (folder,) = five.folders()
    command = f"hekat run {five.folder / 'job.toml'} --runs {five.runs} --resume {folder}"
    assert lines[-1] == f"go on from its last checkpoint with: {command}"
    assert five.call("audit", folder).code == 0
    _, summary, second = run_and_read(five, "--resume", folder)
    assert [entry["round"] for entry in summary["rounds"]["encrypted"]] == [3]
    assert summary["included"] == [{"first": 3, "last": 3, "parties": PARTIES}]
    assert (second / "state").resolve() == folder / "state"
    assert five.call("audit", second).code == 0


def test_three_parties_bear_no_loss(workplace) -> None:
    workplace.shorten()
    answer = workplace.run("--lose", "east:2")
    assert answer.code == 2
    assert "at least 3 of 3" in answer.err
    assert "checkpoint of round 1" in answer.err


@pytest.mark.parametrize(
    ("losses", "words"),
    [
        (["east"], ["expected PARTY:ROUND, such as county:5", "'east'"]),
        ([":2"], ["expected PARTY:ROUND"]),
        (["east:"], ["expected PARTY:ROUND"]),
        (["east:-1"], ["expected PARTY:ROUND"]),
        (["east:²"], ["expected PARTY:ROUND"]),
        (["east:" + "9" * 5000], ["expected PARTY:ROUND"]),
        (["east:0"], ["a round that does not come", "1 to 2", "correct --lose"]),
        (["east:3"], ["a round that does not come", "1 to 2"]),
        (["est:1"], ["a party that takes no part", "north, east, south"]),
        (["hub:1"], ["a party that takes no part"]),
        (["east:1", "east:2"], ["drops out twice", "east:1, east:2"]),
    ],
)
def test_losses_that_cannot_be(losses, words, workplace) -> None:
    answer = workplace.run(*(argument for loss in losses for argument in ("--lose", loss)))
    assert answer.code == 2
    assert [word for word in words if word not in answer.err] == []
    assert len(answer.err) < 500
    assert answer.out == ""
    assert workplace.folders() == []


@pytest.mark.parametrize("kind", ["paillier", "none"])
def test_a_protection_that_bears_no_losses(kind, workplace) -> None:
    workplace.use_paillier()
    if kind == "none":
        workplace.edit("job.toml", 'kind = "paillier"\nkey_bits = 2048', 'kind = "none"')
    workplace.edit("site.toml", r"\[policy\]", '[policy]\nprotections = ["paillier", "none"]')
    answer = workplace.run("--lose", "east:1")
    assert answer.code == 2
    assert f"protection '{kind}' bears no losses" in answer.err
    assert workplace.folders() == []


def test_a_committee_that_bears_no_loss_ends_with_the_reason_and_cure_of_the_party(workplace, monkeypatch) -> None:
    """Three parties under `lattice`: what one raises is the answer, not that too few are left."""
    original = training.local_update
    updates: list[int] = []

    def diverge(*arguments, **named):
        work = original(*arguments, **named)
        updates.append(1)
        if len(updates) == 6:  # the last of round 2
            return replace(work, update={name: values * float("nan") for name, values in work.update.items()})
        return work

    monkeypatch.setattr(training, "local_update", diverge)
    answer = workplace.run()
    assert answer.code == 2
    assert re.search(r"error: party '(north|east|south)' stopped in step 'round-", answer.err)
    assert re.search(r"because: NaN in tensor weight at party (north|east|south) in round 2", answer.err)
    assert "lower training.learning_rate" in answer.err
    assert "too few parties" not in answer.err
    assert "saved: checkpoint of round 1" in answer.err
