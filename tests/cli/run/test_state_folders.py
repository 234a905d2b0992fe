"""Where records lie: at the site, outside of runs, and with the run only where one process plays every party."""

from __future__ import annotations

import hashlib
import json
import re
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from hekat.errors import JobError, StateError
from hekat.launch.horizontal.run import run_job
from hekat.protocol.secure_sum.masked.opening.release_record import OTHER_SUMS_ACCEPTED
from hekat.run.horizontal.load_inputs import HorizontalInputs, load_inputs
from hekat.run.rows.upload_states import check_upload_states, may_lie_with_run

PARTIES = ("north", "east", "south", "west", "middle")


def name_states(workplace, *parties: str, under: str = "state") -> None:
    """A state folder for each of these in the site file."""
    for party in parties:
        line = f'state = "{under}/{party}"\n'
        if party == "north":
            workplace.edit("site.toml", r"^\[party.north\]\n", f"[party.north]\n{line}")
        else:
            workplace.edit("site.toml", rf"^\[party.{party}.data", f"[party.{party}]\n{line}[party.{party}.data")


def digest_of(workplace) -> str:
    return hashlib.sha256((workplace.folder / "job.toml").read_bytes()).hexdigest()


@pytest.mark.long
def test_a_run_that_keeps_its_own_records_says_so_everywhere(workplace) -> None:
    answer = workplace.run()
    assert answer.code == 0
    assert "one machine plays all roles" in re.sub(r"\s+", " ", answer.out).lower()
    (folder,) = workplace.folders()
    assert any(
        "one machine plays all roles" in note for note in json.loads((folder / "summary.json").read_text())["notes"]
    )
    assert "ne machine plays all roles" in re.sub(r"\s+", " ", (folder / "report.html").read_text())
    for party in ("north", "east", "south"):
        assert "the record of releases lies with the run" in (folder / "ledger" / f"{party}.jsonl").read_text()
    name_states(workplace, "north", "east", "south")
    answer = workplace.run()
    assert "one machine plays all roles" not in re.sub(r"\s+", " ", answer.out).lower()
    assert "lies with the run" not in (workplace.folders()[-1] / "ledger" / "north.jsonl").read_text()


def only(inputs: HorizontalInputs, *parties: str) -> HorizontalInputs:
    """The job as a process that plays these parties alone would have it."""
    return replace(inputs, tables={name: inputs.tables[name] for name in parties})


def test_who_does_not_play_every_party_names_a_folder(workplace) -> None:
    inputs = load_inputs(workplace.folder / "job.toml")
    assert may_lie_with_run(inputs)
    alone = only(inputs, "north", "east")
    assert not may_lie_with_run(alone)
    with pytest.raises(JobError) as caught:
        run_job(alone, workplace.runs)
    assert caught.value.what == "the site file names no state folder for north"
    assert 'add to [party.north] of the site file: state = "state/north"' in caught.value.cure
    assert not workplace.runs.exists()
    name_states(workplace, "north", "east", "south")
    check_upload_states(only(load_inputs(workplace.folder / "job.toml"), "north", "east", "south"), None)
    assert not (workplace.folder / "state").exists(), "a check makes nothing"


@pytest.mark.long
def test_hekat_init_names_a_folder_for_every_party(workplace) -> None:
    folder = workplace.folder / "new"
    assert workplace.call("init", folder, "--example").code == 0
    inputs = load_inputs(folder / "job.toml")
    states = {name: site.state for name, site in inputs.site.parties.items()}
    assert states == {name: folder / "state" / name for name in ("alpha", "beta", "gamma")}
    assert workplace.call("run", folder / "job.toml", "--runs", workplace.runs).code == 0
    for state in states.values():
        assert sorted(path.name for path in state.iterdir() if path.suffix != ".lock") == [
            "releases.record",
            "rows.key",
            "uploads.counter",
        ]
        assert state.stat().st_mode & 0o777 == 0o700
    paillier = workplace.folder / "paillier"
    assert workplace.call("init", paillier, "--protection", "paillier").code == 0
    assert 'state = "state/alpha"' in (paillier / "site.toml").read_text()


@pytest.mark.parametrize("place", ["runs", "runs/kept", "old/{run}/state", "moved/state", "link"])
@pytest.mark.parametrize("options", [(), ("--dry-run",)])
def test_a_folder_among_runs_is_refused(place, options, workplace) -> None:
    run = workplace.folder / "old" / "20260101T000000Z-00ab12"
    moved = workplace.folder / "moved"
    for folder in (run / "state", moved):
        folder.mkdir(parents=True)
    (moved / "events.jsonl").touch()
    (workplace.folder / "link").symlink_to(run / "state")
    name_states(workplace, "east", under=place.format(run=run.name))
    answer = workplace.run(*options)
    assert answer.code == 2
    assert "the state folder of east lies among runs" in answer.err
    assert "a folder that outlasts every run" in answer.err
    assert not workplace.runs.exists()


@pytest.fixture
def opened(five, begin_with):
    """Five parties with state folders, after a run of one round in which all of them were.

    The round has one sum: a party that is lost between two of them ends any run.
    """

    def run_once() -> None:
        five.edit("job.toml", "rounds = 3", "rounds = 1")
        five.edit("job.toml", r"\[protection\]", '[codec]\nclipping = "fixed"\nalpha = 4.0\n\n[protection]')
        name_states(five, *PARTIES)
        assert five.run().code == 0

    begin_with(run_once)
    return five


def leave_out_middle(workplace) -> None:
    workplace.edit("job.toml", ', "middle"', "")


def edit_categories(workplace) -> None:
    """What the job makes of a column: other numbers, of the same rows."""
    leave_out_middle(workplace)
    with (workplace.folder / "job.toml").open("a") as file:
        file.write('\n[columns.days]\ncategories = ["0"]\nother = true\n')


def turn_classes(workplace) -> None:
    leave_out_middle(workplace)
    workplace.edit("job.toml", '"no", "yes"', '"yes", "no"')


def test_the_same_rows_without_a_party_are_refused_before_anything_is_written(opened) -> None:
    job = (opened.folder / "job.toml").read_text()
    before = {path: path.read_bytes() for path in (opened.folder / "state").rglob("*") if path.is_file()}
    for change, *options in ((leave_out_middle,), (edit_categories,), (turn_classes, "--dry-run")):
        (opened.folder / "job.toml").write_text(job)
        change(opened)
        answer = opened.run(*options)
        assert answer.code == 2
        assert "sums of the rows of north may have been opened in a job of other parties" in answer.err
        assert "middle is not in this one" in answer.err
        assert f'"{digest_of(opened)}" = "{OTHER_SUMS_ACCEPTED}"' in re.sub(r"\s+", " ", answer.err)
    assert len(opened.folders()) == 1
    after = {path: path.read_bytes() for path in (opened.folder / "state").rglob("*") if path.is_file()}
    assert {path: data for path, data in after.items() if "refusals" not in path.parts} == before
    assert (
        opened.call("audit", opened.folder / "state" / "east").out.count("[party.NAME] other_sums") == 2
    )  # not of the dry run


@pytest.mark.long
def test_a_job_after_a_loss_is_told_who_was_lost_and_who_refuses(five) -> None:
    """The parties are the same in both jobs, so that they are is no help; and all who refuse are named at once."""
    five.edit("job.toml", "rounds = 3", "rounds = 1")
    five.edit("job.toml", r"\[protection\]", '[codec]\nclipping = "fixed"\nalpha = 4.0\n\n[protection]')
    name_states(five, *PARTIES)
    assert five.run("--lose", "middle:1").code == 0
    with (five.folder / "job.toml").open("a") as file:
        file.write("# edited\n")
    answer = five.run("--dry-run")
    told = re.sub(r"\s+", " ", answer.err)
    assert answer.code == 2
    refusing = [party for party in PARTIES if party != "middle"]
    assert f"the records of {', '.join(refusing)} refuse this job" in told
    assert "middle was lost in that earlier job" in told
    assert "with the same parties" not in told
    for party in refusing:
        assert f"[party.{party}.other_sums]" in told
    with (five.folder / "site.toml").open("a") as file:
        for party in refusing:
            file.write(f'\n[party.{party}.other_sums]\n"{digest_of(five)}" = "{OTHER_SUMS_ACCEPTED}"\n')
    assert five.run("--dry-run").code == 0


@pytest.mark.long
def test_the_operators_word_lets_one_job_go_on(opened) -> None:
    leave_out_middle(opened)
    for party in PARTIES[:4]:
        table = f'\n[party.{party}.other_sums]\n"{digest_of(opened)}" = "{OTHER_SUMS_ACCEPTED}"\n'
        with (opened.folder / "site.toml").open("a") as file:
            file.write(table)
    answer = opened.run("--json")
    assert answer.code == 0
    assert [note for note in json.loads(answer.out)["notes"] if "by the word of north's operator" in note]
    assert "operator's word" in (opened.folders()[-1] / "ledger" / "north.jsonl").read_text()
    # A comment makes it another job, which nobody allowed.
    with (opened.folder / "job.toml").open("a") as file:
        file.write("# once more\n")
    assert "sums of the rows of north may have been opened in a job of other parties" in opened.run().err


@pytest.mark.long
def test_a_comment_in_the_job_opens_no_sum_without_a_party(opened) -> None:
    with (opened.folder / "job.toml").open("a") as file:
        file.write("# as it was\n")
    answer = opened.run("--lose", "middle:1")
    assert answer.code == 2
    assert "lost in the middle of 'round-1'" in answer.err
    # By the same parties it is trained again, as often as they like.
    assert opened.run().code == 0
    # The old way, with records that lie with the run: the sum without that party is opened.
    site = opened.folder / "site.toml"
    site.write_text(re.sub(r'^state = "state/.*"\n', "", site.read_text(), flags=re.MULTILINE))
    assert opened.run("--lose", "middle:1").code == 0


@pytest.mark.parametrize("words", ["Other sums of these rows may tell a party's update", "yes", ""])
def test_other_words_allow_nothing(words, workplace) -> None:
    with (workplace.folder / "site.toml").open("a") as file:
        file.write(f'\n[party.north.other_sums]\n"{digest_of(workplace)}" = "{words}"\n')
    answer = workplace.run()
    assert answer.code == 2
    assert "party.north.other_sums does not say what it allows" in answer.err


@pytest.mark.parametrize("digest", ["all", "9f2c", "*", "9F" * 32])
def test_words_for_no_job_are_refused(digest, workplace) -> None:
    with (workplace.folder / "site.toml").open("a") as file:
        file.write(f'\n[party.north.other_sums]\n"{digest}" = "{OTHER_SUMS_ACCEPTED}"\n')
    answer = workplace.run()
    assert answer.code == 2
    assert "a key that is no job's digest" in answer.err


def lose_key(folder: Path) -> None:
    (folder / "rows.key").unlink()


def take_key_of_another(folder: Path) -> None:
    shutil.copy(folder.parent / "east" / "rows.key", folder / "rows.key")


def damage_record(folder: Path) -> None:
    (folder / "releases.record").write_bytes(b"hekat releases 2\n")


def remove_record(folder: Path) -> None:
    (folder / "releases.record").unlink()


def test_a_state_that_is_not_the_rows_own_is_refused(opened) -> None:
    folder, kept = opened.folder / "state" / "north", opened.folder / "kept"
    folder.rename(kept)
    for change, words in {
        lose_key: "is under another rows key",
        take_key_of_another: "is under another rows key",
        damage_record: "releases.record is damaged",
        remove_record: "the state of north is not whole",
    }.items():
        shutil.copytree(kept, folder)
        change(folder)
        answer = opened.run()
        assert answer.code == 2
        assert words in answer.err
        assert "cure: put" in answer.err
        assert "begin a new" not in answer.err
        shutil.rmtree(folder)
    assert len(opened.folders()) == 1


@pytest.mark.long
def test_a_run_of_before_goes_on_once_its_records_are_moved_to_the_site(workplace) -> None:
    workplace.edit("job.toml", "rounds = 2", "rounds = 3")
    assert workplace.run("--lose", "east:2").code == 2
    (stopped,) = workplace.folders()
    name_states(workplace, "north", "east", "south")
    answer = workplace.run("--resume", stopped)
    assert answer.code == 2
    moved = re.search(r"this run's is in (\S+): move it there", answer.err)
    assert moved is not None
    assert Path(moved[1]) == stopped / "state" / "north"
    shutil.move(stopped / "state", workplace.folder / "state")
    assert workplace.run("--resume", stopped).code == 0


def test_a_missing_folder_is_said_of_the_state_and_not_of_the_disk(workplace) -> None:
    inputs = load_inputs(workplace.folder / "job.toml")
    with pytest.raises(StateError, match="the state of north is not whole"):
        check_upload_states(inputs, workplace.folder / "no-run")


def test_a_folder_of_which_only_the_key_is_left_is_not_new(workplace) -> None:
    name_states(workplace, "north", "east", "south")
    folder = workplace.folder / "state" / "north"
    folder.mkdir(parents=True)
    (folder / "rows.key").touch()
    answer = workplace.run()
    assert answer.code == 2
    assert "uploads.counter and releases.record beside rows.key" in answer.err
    assert not workplace.runs.exists()
