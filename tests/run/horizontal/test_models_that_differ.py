"""When a run's checkpoints are set aside, and which: only on a signed or own word that models differ."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from hekat.channel import InProcessHub
from hekat.channel.dropout_notice import DropoutNotice
from hekat.errors import ModelsDifferError, PartyStoppedError, StateError
from hekat.job.horizontal.job_file import Job, load_job
from hekat.run.horizontal.resume import load_stopped
from hekat.run.horizontal.saved_rounds import saved_rounds_of
from hekat.run.resume_point import ResumePoint, agree_on_point
from hekat.run.rows.different_models import (
    finish_setting_aside,
    says_models_differ,
    set_checkpoints_aside,
    set_round_aside,
)
from hekat.state import Checkpoint, load_checkpoint, save_checkpoint

JOB = Path(__file__).parents[3] / "examples" / "hospitals" / "job.toml"


def stop(told_reason: str = "", *, signed: bool = False, cause: Exception | None = None) -> PartyStoppedError:
    error = PartyStoppedError("party 'a' stopped", party="a")
    error.told_reason = told_reason
    if signed:
        error.notice = DropoutNotice("a", "a", told_reason, b"verified by the sealed channel")
    error.__cause__ = cause
    return error


def test_a_relays_word_that_models_differ_takes_no_checkpoint() -> None:
    assert not says_models_differ(stop("ModelsDifferError"))


@pytest.mark.parametrize(
    ("error", "differ"),
    [
        (stop("ModelsDifferError", signed=True), True),
        (stop(cause=ModelsDifferError("north and east do not end with the same model")), True),
        (stop("ChannelError", signed=True), False),
        (stop(cause=OSError("no space")), False),
        (stop(), False),
    ],
)
def test_a_signed_word_or_an_own_finding_does(error, differ) -> None:
    assert says_models_differ(error) == differ


# --- which ones ------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def job() -> Job:
    return load_job(JOB)


def save(folder: Path, job: Job, rounds: int, word: str = "", *, finished: bool = False) -> None:
    state = {"weights": np.full(3, float(rounds))}
    codec_state = {"finished": float(finished)}
    save_checkpoint(folder / f"checkpoint{word}.npz", Checkpoint(job.digest, rounds, state, codec_state=codec_state))


def left_in(folder: Path, job: Job) -> dict[str, int]:
    return {
        path.name.removeprefix("checkpoint").removesuffix(".npz"): load_checkpoint(path, job.digest).rounds_done
        for path in folder.glob("checkpoint*.npz")
    }


def round_ended(job: Job, number: int) -> PartyStoppedError:
    """What the aggregator says where digests differ."""
    return said_by(job.settings.aggregator, f"round-{number}/end")


def said_by(party: str, step: str) -> PartyStoppedError:
    error = stop("ModelsDifferError", signed=True)
    error.party, error.step = party, step
    return error


def test_after_a_round_that_round_alone_is_set_aside(job, tmp_path) -> None:
    save(tmp_path, job, 2, ".before")
    save(tmp_path, job, 3)
    assert set_checkpoints_aside(tmp_path, saved_rounds_of(job), round_ended(job, 3)) == "checkpoint of round 2"
    assert left_in(tmp_path, job) == {"": 2, ".doubtful": 3}


def test_a_party_that_has_not_saved_the_round_keeps_what_it_has(job, tmp_path) -> None:
    save(tmp_path, job, 1, ".before")
    save(tmp_path, job, 2)
    assert set_checkpoints_aside(tmp_path, saved_rounds_of(job), round_ended(job, 3)) == "checkpoint of round 2"
    assert left_in(tmp_path, job) == {".before": 1, "": 2}


def test_of_the_first_round_nothing_is_left(job, tmp_path) -> None:
    save(tmp_path, job, 1)
    assert set_checkpoints_aside(tmp_path, saved_rounds_of(job), round_ended(job, 1)) == ""
    assert left_in(tmp_path, job) == {".doubtful": 1}


@pytest.mark.parametrize("step", ["final/model", "round-3/end", "round-4/upload-9/outcome"])
def test_a_party_that_says_so_before_the_end_takes_nothing(step, job, tmp_path) -> None:
    """Honest parties compare final models alone, and there is none yet."""
    save(tmp_path, job, 2, ".before")
    save(tmp_path, job, 3)
    party = job.settings.parties[0]
    assert set_checkpoints_aside(tmp_path, saved_rounds_of(job), said_by(party, step)) == "checkpoint of round 3"
    assert left_in(tmp_path, job) == {".before": 2, "": 3}


@pytest.mark.parametrize("step", ["final/model", "round-1/end", "round-2/end", "round-4/end", "round-3/agreed"])
def test_an_aggregator_takes_nothing_but_the_last_round_at_its_end(step, job, tmp_path) -> None:
    """A party went on to round 3 after that same aggregator had said that all held one model after round 2."""
    save(tmp_path, job, 2, ".before")
    save(tmp_path, job, 3)
    assert (
        set_checkpoints_aside(tmp_path, saved_rounds_of(job), said_by(job.settings.aggregator, step))
        == "checkpoint of round 3"
    )
    assert left_in(tmp_path, job) == {".before": 2, "": 3}


@pytest.mark.parametrize("word", ["final/model", "round-2/end", "round-3/end"])
@pytest.mark.parametrize("by", ["a party", "the aggregator"])
def test_where_one_party_has_saved_a_round_more_a_false_word_leaves_a_common_one(by, word, job, tmp_path) -> None:
    """Roles that play apart go on from a round that all of them have saved."""
    settings = job.settings
    ahead, behind = tmp_path / "ahead", tmp_path / "behind"
    for folder, rounds in ((ahead, 3), (behind, 2)):
        folder.mkdir()
        save(folder, job, rounds - 1, ".before")
        save(folder, job, rounds)
        set_checkpoints_aside(
            folder, saved_rounds_of(job), said_by(settings.parties[2] if by == "a party" else settings.aggregator, word)
        )
    assert agreed(job, ahead, behind) == 2


def agreed(job: Job, *folders: Path) -> int:
    """The round from which parties go on that have what is in these folders."""
    names = [f"party-{index}" for index, _ in enumerate(folders)]
    hub = InProcessHub(tuple(names), timeout_s=20)

    def agree(name: str, left: dict[str, int]) -> ResumePoint:
        sure = {ResumePoint(rounds) for word, rounds in left.items() if word in ("", ".before")}
        doubtful = [ResumePoint(rounds) for word, rounds in left.items() if word == ".doubtful"]
        return agree_on_point(hub.channel(name), sure, names, doubtful)

    with ThreadPoolExecutor(len(names)) as pool:
        (point,) = set(pool.map(agree, names, [left_in(folder, job) for folder in folders]))
    return point.number


@pytest.mark.parametrize(
    "offer",
    [
        "[[2, false, false, false]]",
        "[[2, false, false, true, 0]]",
        "[[2, false, false, true, true]]",
        '[{"2": 1}]',
        '["abcd"]',
    ],
)
def test_other_offers_are_refused(offer) -> None:
    hub = InProcessHub(("a", "b"), timeout_s=20)
    hub.channel("a").send("b", "resume/offer", offer.encode())
    with pytest.raises(StateError, match="'a' says nothing of where it resumes"):
        agree_on_point(hub.channel("b"), [ResumePoint(2)], ("a", "b"))


def test_folds_that_are_done_belong_to_the_point() -> None:
    """One party saved a fold more before the others stopped: all go on from the fold that all have."""
    names, hub = ["a", "b"], InProcessHub(("a", "b"), timeout_s=20)
    offers = {"a": [ResumePoint(7, True), ResumePoint(7, True, False, 1)]}
    offers["b"] = [ResumePoint(7, True, False, 1), ResumePoint(7, True, False, 2)]
    with ThreadPoolExecutor(2) as pool:
        agreed = set(pool.map(lambda name: agree_on_point(hub.channel(name), offers[name], names), names))
    assert agreed == {ResumePoint(7, True, False, 1)}


@pytest.mark.parametrize("killed", [True, False])
def test_a_doubtful_round_that_nobody_went_on_from_is_none_to_go_on_from(killed, job, tmp_path) -> None:
    """`killed`: one party was, before it heard, and has that round still."""
    folders = [tmp_path / "one", tmp_path / "other"]
    for folder in folders:
        folder.mkdir()
        save(folder, job, 1)
    for folder in folders[killed:]:
        set_checkpoints_aside(folder, saved_rounds_of(job), round_ended(job, 1))
    with pytest.raises(StateError, match="cannot resume from one point"):
        agreed(job, *folders)
    for folder in folders:
        save(folder, job, 1, ".before")
        save(folder, job, 2)
    for folder in folders[killed:]:
        set_checkpoints_aside(folder, saved_rounds_of(job), round_ended(job, 2))
    assert agreed(job, *folders) == 1


def test_a_second_checkpoint_of_a_round_is_in_no_doubt_either(job, tmp_path) -> None:
    """With the validation of the last round's model, whose sum came after the aggregator's answer to that round."""
    last = job.settings.training.round_count
    save(tmp_path, job, last, ".before")
    save(tmp_path, job, last)
    assert (
        set_checkpoints_aside(tmp_path, saved_rounds_of(job), round_ended(job, last)) == f"checkpoint of round {last}"
    )
    assert left_in(tmp_path, job) == {".before": last, "": last}


@pytest.mark.parametrize("word", ["own", "another's"])
@pytest.mark.parametrize("finished", [False, True])
def test_at_the_end_nothing_is_left_to_go_on_from(word, finished, job, tmp_path) -> None:
    """Final models are compared with all models on the way: the rounds before are in doubt as well."""
    last = 5 if finished else job.settings.training.round_count
    save(tmp_path, job, last - 1, ".before")
    save(tmp_path, job, last, finished=finished)
    error = None if word == "own" else said_by(job.settings.parties[0], "final/model")
    assert set_checkpoints_aside(tmp_path, saved_rounds_of(job), error) == ""
    assert left_in(tmp_path, job) == {".before": last - 1, ".different": last}


def test_after_the_last_round_the_one_before_is_left(job, tmp_path) -> None:
    last = job.settings.training.round_count
    save(tmp_path, job, last - 1, ".before")
    save(tmp_path, job, last)
    assert (
        set_checkpoints_aside(tmp_path, saved_rounds_of(job), round_ended(job, last))
        == f"checkpoint of round {last - 1}"
    )
    assert left_in(tmp_path, job) == {"": last - 1, ".doubtful": last}


# --- killed on the way -----------------------------------------------------------------------------------------------


class Killed(BaseException):
    """Stands for the end of the process."""


def killing_at(monkeypatch: pytest.MonkeyPatch, count: int) -> None:
    """The process ends before it changes the folder for the time number `count`, from 0."""
    left = [count]

    def wrapped(change):
        def change_or_die(self, *arguments, **named):
            if not left[0]:
                raise Killed
            left[0] -= 1
            return change(self, *arguments, **named)

        return change_or_die

    for name in ("rename", "replace", "hardlink_to", "unlink"):
        monkeypatch.setattr(Path, name, wrapped(getattr(Path, name)))


@pytest.mark.parametrize("count", range(5))
@pytest.mark.parametrize("last", [1, 3])
def test_a_kill_on_the_way_loses_nothing_and_the_rest_is_done_later(last, count, job, tmp_path, monkeypatch) -> None:
    """By whoever resumes, too: what is marked as in doubt is not gone on from."""
    if last > 1:
        save(tmp_path, job, last - 1, ".before")
    save(tmp_path, job, last)
    before = left_in(tmp_path, job)
    with monkeypatch.context() as patch, suppress(Killed):
        killing_at(patch, count)
        set_checkpoints_aside(tmp_path, saved_rounds_of(job), round_ended(job, last))
    assert before.items() <= left_in(tmp_path, job).items()
    is_marked = ".doubtful" in left_in(tmp_path, job)
    assert is_marked == (count >= 3)
    done = {".doubtful": last} | ({"": last - 1} if last > 1 else {})
    if is_marked:
        finish_setting_aside(tmp_path, saved_rounds_of(job))
        assert left_in(tmp_path, job) == done
    words = f"checkpoint of round {last - 1}" if last > 1 else ""
    assert set_round_aside(tmp_path, saved_rounds_of(job), last) == words
    assert left_in(tmp_path, job) == done
    assert not list(tmp_path.glob("*.new"))


def test_a_role_that_resumes_does_the_rest_first(job, tmp_path) -> None:
    save(tmp_path, job, 1)
    save(tmp_path, job, 1, ".doubtful")
    with pytest.raises(StateError, match="there is nothing to resume"):
        load_stopped(tmp_path, SimpleNamespace(job=job), job.settings.parties[0])
    assert left_in(tmp_path, job) == {".doubtful": 1}


def test_without_a_checkpoint_there_is_nothing_to_set_aside(job, tmp_path) -> None:
    assert set_checkpoints_aside(tmp_path, saved_rounds_of(job), None) == ""
    assert left_in(tmp_path, job) == {}
