"""Upload numbers and releases outlive a run: one that is resumed goes on with them, and with nothing less."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from hekat.state import Counter


def next_number(folder: Path) -> int:
    with Counter.open(folder / "uploads.counter") as counter:
        return counter.next_value


@pytest.fixture
def stopped(workplace, begin_with):
    """A run of three rounds that stopped in its second."""

    def stop() -> None:
        workplace.edit("job.toml", "rounds = 2", "rounds = 3")
        assert workplace.run("--lose", "east:2").code == 2

    begin_with(stop)
    (folder,) = workplace.folders()
    return folder


@pytest.mark.long
def test_a_resumed_run_takes_no_number_twice(workplace, stopped) -> None:
    before = next_number(stopped / "state" / "east")
    assert before > 0
    assert workplace.run("--resume", stopped).code == 0
    resumed = workplace.folders()[-1]
    assert (resumed / "state").is_symlink()
    # Rounds 2 and 3, and no number of before.
    assert next_number(stopped / "state" / "east") == before + 2
    assert next_number(resumed / "state" / "north") == before + 2


@pytest.mark.long
def test_a_run_resumed_twice_goes_on_with_the_first_ones_state(workplace, stopped) -> None:
    assert workplace.run("--resume", stopped, "--lose", "south:3").code == 2
    second = workplace.folders()[-1]
    assert workplace.run("--resume", second).code == 0
    third = workplace.folders()[-1]
    assert (third / "state").resolve() == stopped / "state"


def remove_state(folder: Path) -> None:
    shutil.rmtree(folder / "state")


def break_link(folder: Path) -> None:
    (folder / "state").rename(folder / "elsewhere")
    (folder / "state").symlink_to(folder / "nothing", target_is_directory=True)


def remove_one(folder: Path) -> None:
    shutil.rmtree(folder / "state" / "east")


def remove_record(folder: Path) -> None:
    (folder / "state" / "east" / "releases.record").unlink()


def damage_counter(folder: Path) -> None:
    (folder / "state" / "east" / "uploads.counter").write_text("hekat counter 1\n0\nabc\n")


def damage_record(folder: Path) -> None:
    (folder / "state" / "south" / "releases.record").write_bytes(b"\x00")


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (remove_state, ["the state of north is not whole", "no uploads.counter and no releases.record"]),
        (break_link, ["the state of north is not whole"]),
        (remove_one, ["the state of east is not whole", "put the folder back"]),
        (remove_record, ["the state of east is not whole", "no releases.record"]),
        (damage_counter, ["uploads.counter is damaged"]),
        (damage_record, ["releases.record is damaged"]),
    ],
)
def test_a_state_that_is_not_whole_is_not_resumed(change, words, workplace, stopped) -> None:
    change(stopped)
    answer = workplace.run("--resume", stopped)
    assert answer.code == 2
    assert answer.err.startswith("error: ")
    assert "cure: " in answer.err
    assert [word for word in words if word not in answer.err] == []
    assert workplace.folders() == [stopped]


def test_a_state_that_another_run_has_open(workplace, stopped) -> None:
    with Counter.open(stopped / "state" / "east" / "uploads.counter"):
        answer = workplace.run("--resume", stopped)
    assert answer.code == 2
    assert "is open elsewhere" in answer.err
    assert workplace.folders() == [stopped]


@pytest.mark.long
def test_a_party_keeps_its_own_state_from_run_to_run(workplace) -> None:
    workplace.edit("site.toml", r"\[party.east.data", '[party.east]\nstate = "kept/east"\n[party.east.data')
    assert workplace.run().code == 0
    own = workplace.folder / "kept" / "east"
    first = next_number(own)
    assert oct(own.stat().st_mode & 0o777) == "0o700"
    assert workplace.run("--json").code == 0
    assert next_number(own) > first
    for folder in workplace.folders():
        assert sorted(path.name for path in (folder / "state").iterdir()) == ["north", "south"]


@pytest.mark.long
def test_with_a_state_for_each_the_run_keeps_none(workplace) -> None:
    for party in ("east", "south"):
        workplace.edit(
            "site.toml", rf"\[party.{party}.data", f'[party.{party}]\nstate = "{party}.s"\n[party.{party}.data'
        )
    workplace.edit("site.toml", r"\[party.north\]", '[party.north]\nstate = "north.s"')
    answer = workplace.run("--json")
    assert answer.code == 0
    (folder,) = workplace.folders()
    assert not (folder / "state").exists()
    assert not any("one machine plays all roles" in note for note in json.loads(answer.out)["notes"])


@pytest.mark.long_cases("paillier")
@pytest.mark.parametrize("kind", ["paillier", "none"])
def test_other_protections_keep_none(kind, workplace) -> None:
    workplace.use_paillier()
    if kind == "none":
        workplace.edit("job.toml", 'kind = "paillier"\nkey_bits = 2048', 'kind = "none"')
        workplace.edit("site.toml", r"\[policy\]", '[policy]\nprotections = ["none"]')
    assert workplace.run().code == 0
    (folder,) = workplace.folders()
    assert not (folder / "state").exists()
