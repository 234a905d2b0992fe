"""A job in which three of five parties train in a round: what `hekat run` checks, shows, writes and resumes."""

from __future__ import annotations

import json

import pytest

from hekat.job.horizontal.job_file import load_job
from hekat.protocol.secure_sum.participation import Participation

PARTIES = ["north", "east", "south", "west", "middle"]


@pytest.fixture
def sampled(five):
    """Three of five parties in each of four rounds."""
    five.edit("job.toml", r"rounds = 3", "rounds = 4\nparticipation = 0.6")
    return five


def samples_of(place):
    job = load_job(place.folder / "job.toml")
    samples = Participation(job.settings.sums, job.digest)
    return [list(samples.parties_in(f"round-{number}")) for number in range(1, 5)]


def expand(included):
    return [entry["parties"] for entry in included for _ in range(entry["first"], entry["last"] + 1)]


@pytest.mark.quick_cases("none")
@pytest.mark.parametrize("protection", ["lattice", "paillier", "none"])
def test_the_summary_tells_whose_updates_are_in_the_sums(protection, sampled) -> None:
    if protection == "paillier":
        sampled.use_paillier()
    elif protection == "none":
        sampled.edit("job.toml", 'kind = "lattice"', 'kind = "none"')
        sampled.edit("job.toml", r"exactness = true", "exactness = false")
        sampled.edit("site.toml", r"\[policy\]", '[policy]\nprotections = ["none"]')
    answer = sampled.run("--verbose")
    assert answer.code == 0, answer.err
    folder = sampled.folders()[-1]
    summary = json.loads((folder / "summary.json").read_text())
    assert (summary["settings"]["participation"], summary["settings"]["sample_size"]) == (0.6, 3)
    samples = samples_of(sampled)
    assert expand(summary["included"]) == samples
    counts = [sum(name in sample for sample in samples) for name in PARTIES]
    each = ", ".join(f"{name} in {count}" for name, count in zip(PARTIES[:-1], counts[:-1], strict=True))
    told = f"Each round has the updates of 3 of 5 parties; of 4 rounds, {each} and middle in {counts[-1]}."
    assert told in " ".join(answer.out.split())
    assert told in (folder / "report.html").read_text()
    assert "drawn from the job's digest" in " ".join(summary["notes"])
    assert summary["bytes"]["update_sealed"] > 0
    audit = sampled.call("audit", folder)
    assert audit.code == 0, audit.out


@pytest.mark.long
def test_a_plain_comparison_trains_with_the_same_parties(sampled) -> None:
    sampled.shorten()
    sampled.edit("job.toml", r"\[checks\]", "[compare]\nplain = true\n\n[checks]")
    sampled.edit("site.toml", r"\[policy\]", '[policy]\nprotections = ["lattice", "none"]')
    answer = sampled.run()
    assert answer.code == 0, answer.err
    summary = json.loads((sampled.folders()[-1] / "summary.json").read_text())
    losses = {name: [entry["loss"] for entry in rounds] for name, rounds in summary["rounds"].items()}
    assert losses["encrypted"] == pytest.approx(losses["plain"], abs=1e-3)


@pytest.mark.long
def test_a_party_that_is_lost_in_a_round_it_is_not_sampled_in(sampled) -> None:
    sampled.shorten()
    samples = samples_of(sampled)
    away = next(name for name in PARTIES if name not in samples[3])
    answer = sampled.run("--lose", f"{away}:4")
    assert answer.code == 0, answer.err
    summary = json.loads((sampled.folders()[-1] / "summary.json").read_text())
    (loss,) = summary["lost"]
    assert (loss["party"], loss["round"], loss["reason"]) == (
        away,
        4,
        "left in the middle of round-4, as was asked for",
    )
    assert expand(summary["included"]) == samples
    assert "Rounds with fewer" not in answer.out


@pytest.mark.long
def test_a_sampled_party_that_is_lost_ends_a_round_of_three_and_the_run_is_resumed(sampled) -> None:
    sampled.shorten()
    samples = samples_of(sampled)
    lost = samples[1][0]
    answer = sampled.run("--lose", f"{lost}:2")
    assert answer.code == 2
    told = " ".join(answer.err.split())
    assert f"too few parties are left for round-2 expected: at least 3 of {', '.join(samples[1])}" in told
    assert f"got: 2, lost: {lost} (in step round-2/" in told
    again = sampled.run("--resume", sampled.folders()[-1])
    assert again.code == 0, again.err
    summary = json.loads((sampled.folders()[-1] / "summary.json").read_text())
    assert expand(summary["included"]) == samples[1:]


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("participation = 0.4", "0.6 or more, 3 of 5 parties in each round"),
        ("participation = 0.6\nmin_parties = 4", "0.8 or more, 4 of 5 parties in each round: training.min_parties"),
        ("participation = 0", "a fraction above 0, up to 1"),
        ("min_parties = 6", "0 to 5, the parties of the job"),
    ],
)
def test_what_cannot_be_is_refused_before_anything_starts(line, said, five) -> None:
    five.edit("job.toml", "rounds = 3", f"rounds = 3\n{line}")
    answer = five.run()
    assert answer.code == 2
    assert said in " ".join(answer.err.split())
    assert five.folders() == []


def test_min_parties_alone_bears_no_loss(five) -> None:
    five.shorten()
    five.edit("job.toml", "rounds = 3", "rounds = 3\nmin_parties = 5")
    answer = five.run("--lose", "west:2")
    assert answer.code == 2
    assert "expected: at least 5 of 5 got: 4, lost: west" in " ".join(answer.err.split())
