"""The checkpoints of a training on an encrypted model: each role's own, and hostile files in their place."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from hekat.errors import StateError
from hekat.job.encrypted_model.job_file import EncryptedModelJob, load_encrypted_model_job
from hekat.protocol.encrypted_model.party_run import SHARE, TRANSCRIPT, ShareState
from hekat.run.encrypted_model.checkpoint_files import load_common_states, load_state, save_state, saved_rounds
from hekat.run.vertical.checkpoint_files import CHECKPOINTS_FOLDER
from hekat.state import Checkpoint, save_checkpoint

ROLES = ("north", "lake", "lab", "hub", "judge")


@pytest.fixture
def job(tmp_path: Path) -> EncryptedModelJob:
    path = tmp_path / "job.toml"
    path.write_text(
        'format = 2\nname = "clinics"\nprotocol = "encrypted_model"\nhosts = ["north", "lake"]\nowner = "lab"\n'
        "allow_two_parties = true\n"
        'aggregator = "hub"\narbiter = "judge"\ndata = "rows"\nclasses = ["no", "yes"]\n'
    )
    return load_encrypted_model_job(path)


def state_of(role: str, number: int) -> ShareState:
    arrays = {SHARE: np.full((4, 1, 2), number, np.uint64), TRANSCRIPT: np.zeros(32, np.uint8)}
    return ShareState(arrays if role in ("hub", "judge") else {}, number)


def test_all_go_on_from_the_last_round_that_every_role_saved(job, tmp_path) -> None:
    for role in ROLES:
        for number in range(1, 4 if role == "hub" else 5):
            save_state(tmp_path, job, role, state_of(role, number))
    assert saved_rounds(tmp_path, "lake") == [3, 4]
    found = load_common_states(tmp_path, job)
    assert {role: one.rounds_done for role, one in found.items()} == dict.fromkeys(ROLES, 3)
    assert np.array_equal(found["judge"].arrays[SHARE], state_of("judge", 3).arrays[SHARE])
    files = [*(tmp_path / CHECKPOINTS_FOLDER).iterdir()]
    assert len(files) == 2 * len(ROLES)
    assert {path.stat().st_mode & 0o777 for path in files} == {0o600}


def test_roles_without_a_round_in_common_cannot_go_on(job, tmp_path) -> None:
    save_state(tmp_path, job, "hub", state_of("hub", 1))
    with pytest.raises(StateError, match="there is nothing to resume") as refusal:
        load_common_states(tmp_path, job)
    assert "none of north, lake, lab, judge" in refusal.value.got
    for role in ROLES:
        save_state(tmp_path, job, role, state_of(role, 5 if role == "lab" else 1))
    with pytest.raises(StateError, match="checkpoints of different rounds"):
        load_common_states(tmp_path, job)


@pytest.mark.parametrize(
    ("role", "arrays", "rounds", "finished"),
    [
        ("hub", {}, 1, 0.0),
        ("hub", {SHARE: np.zeros((4, 1, 2))}, 1, 0.0),
        ("hub", {SHARE: np.zeros((4, 1, 2)), TRANSCRIPT: np.zeros(32, np.uint8)}, 1, 0.0),
        ("north", {SHARE: np.zeros((4, 1, 2), np.uint64), TRANSCRIPT: np.zeros(32, np.uint8)}, 1, 0.0),
        ("north", {}, 2, 0.0),
        ("north", {}, 1, 0.5),
    ],
)
def test_what_cannot_be_a_state_of_the_role_is_refused(job, tmp_path, role, arrays, rounds, finished) -> None:
    path = tmp_path / CHECKPOINTS_FOLDER / f"{role}-round-1.npz"
    path.parent.mkdir()
    save_checkpoint(path, Checkpoint(job.digest, rounds, parameters=arrays, codec_state={"finished": finished}))
    with pytest.raises(StateError, match="cannot be resumed"):
        load_state(tmp_path, job, role, 1)


def test_a_damaged_file_and_one_of_another_job_are_refused(job, tmp_path) -> None:
    save_state(tmp_path, job, "hub", state_of("hub", 1))
    with pytest.raises(StateError, match="belongs to another job"):
        load_state(tmp_path, replace(job, digest=bytes(32)), "hub", 1)
    path = tmp_path / CHECKPOINTS_FOLDER / "hub-round-1.npz"
    path.write_bytes(path.read_bytes()[:-40])
    with pytest.raises(StateError, match="is damaged"):
        load_state(tmp_path, job, "hub", 1)
