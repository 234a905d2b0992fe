"""The files from which each role resumes: its own state of the last rounds, readable only by its owner.

Arbiter and aggregator each keep a share of the model, of no use alone; hosts and an owner apart keep the number of the
round. Roles end a round one after the other, so that a run may stop when some have saved it and some have not:
therefore each keeps the round before too, and all go on from the last one that every role has.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

import numpy as np

from hekat.disk_errors import disk_errors_as_state_errors
from hekat.errors import StateError
from hekat.job.encrypted_model.job_file import EncryptedModelJob
from hekat.protocol.encrypted_model.party_run import SHARE, TRANSCRIPT, ShareState
from hekat.run.encrypted_model.rounds import ROUND
from hekat.run.numbered_files import numbered_path, numbers_of
from hekat.run.vertical.checkpoint_files import CHECKPOINTS_FOLDER
from hekat.state import Checkpoint, cure_of_parent, load_checkpoint, refuse_checkpoint, save_checkpoint

_FINISHED: Final = "finished"
_KEPT_ROUNDS: Final = 2
_KINDS: Final = {SHARE: np.dtype(np.uint64), TRANSCRIPT: np.dtype(np.uint8)}


def save_state(run_folder: Path, job: EncryptedModelJob, role: str, state: ShareState) -> None:
    """Write the role's state, whole or not at all, mode 600; those older than the round before go.

    Raises StateError.
    """
    folder = run_folder / CHECKPOINTS_FOLDER
    with disk_errors_as_state_errors(f"{folder} could not be written"):
        folder.mkdir(mode=0o700, exist_ok=True)
    checkpoint = Checkpoint(
        job.digest,
        state.rounds_done,
        parameters=state.arrays,
        codec_state={_FINISHED: float(state.finished)},
    )
    save_checkpoint(numbered_path(folder, role, ROUND, state.rounds_done), checkpoint)
    with disk_errors_as_state_errors(f"{folder} could not be tidied"):
        for number in numbers_of(folder, role, ROUND)[:-_KEPT_ROUNDS]:
            numbered_path(folder, role, ROUND, number).unlink()


def saved_rounds(run_folder: Path, role: str) -> list[int]:
    """The rounds that the role has states of. Raises StateError."""
    folder = run_folder / CHECKPOINTS_FOLDER
    with disk_errors_as_state_errors(f"{folder} cannot be read"):
        return numbers_of(folder, role, ROUND)


def load_state(run_folder: Path, job: EncryptedModelJob, role: str, number: int) -> ShareState:
    """The role's state after round `number`. Raises StateError where it is missing, damaged, of another job, or cannot
    be a state of the role."""
    path = numbered_path(run_folder / CHECKPOINTS_FOLDER, role, ROUND, number)
    found, what = load_checkpoint(path, job.digest), f"checkpoint {path}"
    finished, arrays = found.codec_state.get(_FINISHED), dict(found.parameters)
    if finished not in (0.0, 1.0) or found.rounds_done != number:
        raise refuse_checkpoint(what, f"a state after round {number}", "another")
    holds_share = role in (job.settings.arbiter, job.settings.aggregator)
    kinds = {name: values.dtype for name, values in arrays.items()}
    if kinds != (_KINDS if holds_share else {}):
        raise refuse_checkpoint(what, "a share of the model" if holds_share else "no array", "other arrays")
    return ShareState(arrays, number, bool(finished))


def load_common_states(run_folder: Path, job: EncryptedModelJob) -> dict[str, ShareState]:
    """Every role's state of the last round that all have saved. Raises StateError where there is none."""
    roles = job.settings.everyone
    numbers = {role: set(saved_rounds(run_folder, role)) for role in roles}
    common = set.intersection(*numbers.values())
    if not common:
        without = [role for role in roles if not numbers[role]]
        raise StateError(
            f"there is nothing to resume in {run_folder}",
            expected=f"{CHECKPOINTS_FOLDER}/ with every role's checkpoint of one round",
            got=f"none of {', '.join(without)}" if without else "checkpoints of different rounds",
            cure=cure_of_parent(
                run_folder, "check the path; a run that stopped in its first round begins again, without --resume"
            ),
        )
    return {role: load_state(run_folder, job, role, max(common)) for role in roles}
