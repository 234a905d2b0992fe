"""When a run's checkpoints are set aside, and which: only on a signed or own word that models differ."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from hekat.channel.dropout_notice import DropoutNotice
from hekat.errors import ModelsDifferError, PartyStoppedError
from hekat.job.horizontal.job_file import Job, load_job
from hekat.run.horizontal.different_models import says_models_differ, set_checkpoints_aside
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
    assert set_checkpoints_aside(tmp_path, job, round_ended(job, 3)) == "checkpoint of round 2"
    assert left_in(tmp_path, job) == {"": 2, ".doubtful": 3}


def test_a_party_that_has_not_saved_the_round_keeps_what_it_has(job, tmp_path) -> None:
    save(tmp_path, job, 1, ".before")
    save(tmp_path, job, 2)
    assert set_checkpoints_aside(tmp_path, job, round_ended(job, 3)) == "checkpoint of round 2"
    assert left_in(tmp_path, job) == {".before": 1, "": 2}


def test_of_the_first_round_nothing_is_left(job, tmp_path) -> None:
    save(tmp_path, job, 1)
    assert set_checkpoints_aside(tmp_path, job, round_ended(job, 1)) == ""
    assert left_in(tmp_path, job) == {".doubtful": 1}


@pytest.mark.parametrize("step", ["final/model", "round-3/end", "round-4/upload-9/outcome"])
def test_a_party_that_says_so_before_the_end_takes_one_round(step, job, tmp_path) -> None:
    """Honest parties compare final models alone, and there is none yet."""
    save(tmp_path, job, 2, ".before")
    save(tmp_path, job, 3)
    party = job.settings.parties[0]
    assert set_checkpoints_aside(tmp_path, job, said_by(party, step)) == "checkpoint of round 2"
    assert left_in(tmp_path, job) == {"": 2, ".doubtful": 3}


@pytest.mark.parametrize("word", ["own", "another's"])
@pytest.mark.parametrize("finished", [False, True])
def test_at_the_end_nothing_is_left_to_go_on_from(word, finished, job, tmp_path) -> None:
    """Final models are compared with all models on the way: the rounds before are in doubt as well."""
    last = 5 if finished else job.settings.training.round_count
    save(tmp_path, job, last - 1, ".before")
    save(tmp_path, job, last, finished=finished)
    error = None if word == "own" else said_by(job.settings.parties[0], "final/model")
    assert set_checkpoints_aside(tmp_path, job, error) == ""
    assert left_in(tmp_path, job) == {".before": last - 1, ".different": last}


def test_after_the_last_round_the_one_before_is_left(job, tmp_path) -> None:
    last = job.settings.training.round_count
    save(tmp_path, job, last - 1, ".before")
    save(tmp_path, job, last)
    assert set_checkpoints_aside(tmp_path, job, round_ended(job, last)) == f"checkpoint of round {last - 1}"
    assert left_in(tmp_path, job) == {"": last - 1, ".doubtful": last}


def test_without_a_checkpoint_there_is_nothing_to_set_aside(job, tmp_path) -> None:
    assert set_checkpoints_aside(tmp_path, job, None) == ""
    assert left_in(tmp_path, job) == {}
