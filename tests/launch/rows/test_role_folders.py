"""Which of the roles' checkpoints and models the run's folder gets."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from hekat.errors import StateError
from hekat.job.horizontal.job_file import Job, load_job
from hekat.launch.local.role_folders import RoleFolders
from hekat.launch.rows.role_folders import find_furthest, join_role_folders, recover_role_folders
from hekat.run.horizontal.saved_rounds import saved_rounds_of
from hekat.state import Checkpoint, load_checkpoint, save_checkpoint

JOB = Path(__file__).parents[3] / "examples" / "hospitals" / "job.toml"


@pytest.fixture(scope="module")
def job() -> Job:
    return load_job(JOB)


@pytest.fixture
def folders(tmp_path, job) -> RoleFolders:
    found = RoleFolders(tmp_path / "run", job.settings.everyone)
    for role in found.roles:
        found.folder_of(role).mkdir(parents=True)
    return found


def save(folders: RoleFolders, job: Job, party: str, rounds: int, *, model: bool = False) -> None:
    folder = folders.folder_of(party)
    save_checkpoint(folder / "checkpoint.npz", Checkpoint(job.digest, rounds, {"weights": np.full(3, float(rounds))}))
    if model:
        (folder / "model.npz").write_text(party)


def test_the_run_gets_the_checkpoint_and_the_model_of_the_party_that_came_furthest(folders, job) -> None:
    first, second, third, *_ = job.settings.parties
    save(folders, job, first, 2)
    save(folders, job, second, 3)
    save(folders, job, third, 3, model=True)
    furthest = find_furthest(folders, saved_rounds_of(job))
    assert furthest is not None
    assert (furthest.rounds_done, furthest.folder) == (3, folders.folder_of(third))
    join_role_folders(folders, saved_rounds_of(job))
    assert load_checkpoint(folders.run / "checkpoint.npz", job.digest).rounds_done == 3
    assert (folders.run / "model.npz").read_text() == third
    assert not folders.are_left


def test_the_checkpoint_before_comes_along_from_that_party(folders, job) -> None:
    """Another party may have been killed before it saved its own part of the last round."""
    first, second, *_ = job.settings.parties
    for party, rounds in ((first, 2), (second, 3)):
        save(folders, job, party, rounds - 1)
        folder = folders.folder_of(party)
        (folder / "checkpoint.npz").rename(folder / "checkpoint.before.npz")
        save(folders, job, party, rounds)
    join_role_folders(folders, saved_rounds_of(job))
    kept = [load_checkpoint(folders.run / f"checkpoint{word}.npz", job.digest).rounds_done for word in ("", ".before")]
    assert kept == [3, 2]


def test_where_one_party_found_that_models_differ_the_run_gets_no_checkpoint_of_another(folders, job) -> None:
    """Another stopped before it could compare, and still has one that all here would go on from."""
    first, second, *_ = job.settings.parties
    save(folders, job, first, 3, model=True)
    (folders.folder_of(second) / "checkpoint.different.npz").write_text("of one of them")
    join_role_folders(folders, saved_rounds_of(job))
    assert (folders.run / "checkpoint.different.npz").exists()
    assert not (folders.run / "checkpoint.npz").exists()
    assert not (folders.run / "model.npz").exists()


def test_where_one_party_set_a_round_aside_the_run_gets_the_round_before_of_all(folders, job) -> None:
    """Another was killed before it heard, and its checkpoint of that round would be the furthest."""
    first, second, *_ = job.settings.parties
    for party in (first, second):
        save(folders, job, party, 2)
        folder = folders.folder_of(party)
        (folder / "checkpoint.npz").rename(folder / "checkpoint.before.npz")
        save(folders, job, party, 3)
    folder = folders.folder_of(second)
    (folder / "checkpoint.npz").rename(folder / "checkpoint.doubtful.npz")
    (folder / "checkpoint.before.npz").rename(folder / "checkpoint.npz")
    join_role_folders(folders, saved_rounds_of(job))
    assert load_checkpoint(folders.run / "checkpoint.npz", job.digest).rounds_done == 2
    assert load_checkpoint(folders.run / "checkpoint.doubtful.npz", job.digest).rounds_done == 3
    assert not (folders.run / "checkpoint.different.npz").exists()


def test_a_round_that_another_party_went_on_from_is_in_no_doubt(folders, job) -> None:
    """It was told by the aggregator that all held one model there, and that is what the other was told is not so."""
    first, second, *_ = job.settings.parties
    save(folders, job, first, 2)
    folder = folders.folder_of(first)
    (folder / "checkpoint.npz").rename(folder / "checkpoint.before.npz")
    save(folders, job, first, 3)
    save(folders, job, second, 2)
    folder = folders.folder_of(second)
    (folder / "checkpoint.npz").rename(folder / "checkpoint.doubtful.npz")
    join_role_folders(folders, saved_rounds_of(job))
    kept = [load_checkpoint(folders.run / f"checkpoint{word}.npz", job.digest).rounds_done for word in ("", ".before")]
    assert kept == [3, 2]


def test_without_a_checkpoint_there_is_nothing_to_take(folders, job) -> None:
    (folders.folder_of(job.settings.parties[0]) / "checkpoint.npz").write_text("damaged")
    assert find_furthest(folders, saved_rounds_of(job)) is None
    join_role_folders(folders, saved_rounds_of(job))
    assert not (folders.run / "checkpoint.npz").exists()
    assert (folders.folder_of(job.settings.parties[0]) / "checkpoint.npz").exists(), "what cannot be read is kept"


def test_another_job_takes_nothing_out_of_a_run_that_it_cannot_resume(folders, job) -> None:
    """A job that was edited, or a release that cannot read the files: the right one still finds everything."""
    save(folders, job, job.settings.parties[0], 80, model=True)
    before = sorted(folders.run.rglob("*"))
    with pytest.raises(StateError, match="another job"):
        recover_role_folders(folders, saved_rounds_of(replace(job, digest=bytes(32))))
    with pytest.raises(StateError, match="is not what the roles of this job left"):
        recover_role_folders(RoleFolders(folders.run, ("bank", "insurer")), saved_rounds_of(job))
    assert sorted(folders.run.rglob("*")) == before
    recover_role_folders(folders, saved_rounds_of(job))
    assert load_checkpoint(folders.run / "checkpoint.npz", job.digest).rounds_done == 80


def test_a_recovery_that_was_cut_short_rolls_nothing_back(folders, job) -> None:
    """The furthest checkpoint lies in the run's folder already; what is left is of a party that dropped out early."""
    save_checkpoint(folders.run / "checkpoint.npz", Checkpoint(job.digest, 100, {"weights": np.zeros(3)}))
    save(folders, job, job.settings.parties[0], 3)
    recover_role_folders(folders, saved_rounds_of(job))
    assert load_checkpoint(folders.run / "checkpoint.npz", job.digest).rounds_done == 100
    assert not folders.are_left
