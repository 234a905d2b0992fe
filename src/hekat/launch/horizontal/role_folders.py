"""One run folder out of the folders of horizontal roles that each played in a process of its own."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from hekat.disk_errors import disk_errors_as_state_errors
from hekat.errors import StateError
from hekat.job.horizontal.job_file import Job
from hekat.launch.local.role_folders import RoleFolders
from hekat.run.horizontal.trained_model import MODEL_FILE, TENSORS_FILE
from hekat.run.horizontal.training_state_file import CHECKPOINT_FILE, DIFFERENT_FILE
from hekat.run.run_events import EVENTS_FILE
from hekat.state import load_checkpoint
from hekat.summary.result_file import RESULT_FILE
from hekat.summary.summary_format import SUMMARY_FILE

# Every party has these: one of each serves for all.
_SHARED = (CHECKPOINT_FILE, DIFFERENT_FILE, MODEL_FILE, TENSORS_FILE)


@dataclass(frozen=True)
class Furthest:
    """The folder of the party that came furthest, and the rounds that it had done."""

    rounds_done: int
    folder: Path


def find_furthest(folders: RoleFolders, job: Job) -> Furthest | None:
    """The party with the most rounds, and of these one with a model; None where no party saved anything."""
    found = []
    for party in job.settings.parties:
        own = folders.folder_of(party)
        with suppress(StateError):
            done = load_checkpoint(own / CHECKPOINT_FILE, job.digest).rounds_done
            found.append((done, (own / MODEL_FILE).exists(), own))
    if not found:
        return None
    done, _, folder = max(found, key=lambda one: one[:2])
    return Furthest(done, folder)


def join_role_folders(folders: RoleFolders, job: Job) -> None:
    """Move what the roles left into the run's folder, and remove theirs. Raises StateError."""
    folders.join((EVENTS_FILE, RESULT_FILE, SUMMARY_FILE, *_SHARED))
    with disk_errors_as_state_errors(f"the checkpoint could not be moved into {folders.run}"):
        _take_shared(folders, job)
    folders.remove()


def recover_role_folders(folders: RoleFolders, job: Job) -> None:
    """Do so where the launcher was killed before it could. Raises StateError where roles still play."""
    if folders.are_left:
        with folders.held():
            join_role_folders(folders, job)


def _take_shared(folders: RoleFolders, job: Job) -> None:
    """Move the checkpoint and the model of the party that came furthest into the run's folder."""
    for party in job.settings.parties:
        different = folders.folder_of(party) / DIFFERENT_FILE
        if different.exists():
            # One party's word is enough: another may have stopped before it could compare.
            different.replace(folders.run / DIFFERENT_FILE)
            return
    furthest = find_furthest(folders, job)
    if furthest is None:
        return
    for name in _SHARED:
        path = furthest.folder / name
        if path.exists():
            path.replace(folders.run / name)
