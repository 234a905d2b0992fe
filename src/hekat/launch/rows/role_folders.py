"""One run folder out of the folders of roles of a run on rows that each played in a process of its own."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from hekat.disk_errors import disk_errors_as_state_errors
from hekat.errors import StateError
from hekat.launch.local.role_folders import RoleFolders
from hekat.run.horizontal.trained_model import MODEL_FILE, TENSORS_FILE
from hekat.run.horizontal.training_state_file import CHECKPOINT_FILE, DIFFERENT_FILE, EARLIER_FILE
from hekat.run.rows.different_models import round_set_aside, set_round_aside
from hekat.run.rows.saved_rounds import SavedRounds

# Every party has these: one of each serves for all. In this order: the party with the last checkpoint is found by it.
_SHARED = (EARLIER_FILE, CHECKPOINT_FILE, DIFFERENT_FILE, MODEL_FILE, TENSORS_FILE)


@dataclass(frozen=True)
class Furthest:
    """The folder of the party that came furthest, and the rounds that it had done."""

    rounds_done: int
    has_model: bool
    folder: Path


def find_furthest(folders: RoleFolders, saved: SavedRounds) -> Furthest | None:
    """The party with the most rounds, and of these one with a model; None where no party has a sound checkpoint."""
    found, _ = _read_checkpoints(folders, saved)
    return max(found, key=_reach, default=None)


def join_role_folders(folders: RoleFolders, saved: SavedRounds) -> None:
    """Move what the roles left into the run's folder, and remove theirs, unless no checkpoint in them can be read.

    Raises StateError where processes still play.
    """
    with folders.held():
        _leave_out_round_in_doubt(folders, saved)
        found, refusals = _read_checkpoints(folders, saved)
        _join(folders, saved, max(found, key=_reach, default=None), keeps_folders=bool(refusals and not found))


def recover_role_folders(folders: RoleFolders, saved: SavedRounds) -> None:
    """Do so where the launcher was killed before it could.

    Raises StateError where processes still play, for what no roles of this job left, and where every checkpoint is
    refused, as in a run of another job: then nothing is moved.
    """
    if not folders.are_left:
        return
    with folders.held():
        folders.check_found()
        _leave_out_round_in_doubt(folders, saved)
        found, refusals = _read_checkpoints(folders, saved)
        if refusals and not found:
            raise refusals[0]
        _join(folders, saved, max(found, key=_reach, default=None))


def _leave_out_round_in_doubt(folders: RoleFolders, saved: SavedRounds) -> None:
    """Where one party set the checkpoint of a round aside, do so for all: another may have stopped before it heard."""
    places = [folders.run, *(folders.folder_of(party) for party in saved.parties)]
    numbers = {number for place in places if (number := round_set_aside(place, saved)) is not None}
    for number in sorted(numbers):
        for place in places:
            set_round_aside(place, saved, number)


def _reach(one: Furthest) -> tuple[int, bool]:
    return one.rounds_done, one.has_model


def _read_checkpoints(folders: RoleFolders, saved: SavedRounds) -> tuple[list[Furthest], list[StateError]]:
    """What every party's checkpoint says, and why others that are there cannot be read."""
    found, refusals = [], []
    for party in saved.parties:
        folder = folders.folder_of(party)
        if (folder / CHECKPOINT_FILE).is_file():
            try:
                found.append(_read(folder, saved))
            except StateError as error:
                refusals.append(error)
    return found, refusals


def _read(folder: Path, saved: SavedRounds) -> Furthest:
    done = saved.done_in(folder / CHECKPOINT_FILE)
    return Furthest(done, (folder / MODEL_FILE).exists(), folder)


def _join(folders: RoleFolders, saved: SavedRounds, furthest: Furthest | None, *, keeps_folders: bool = False) -> None:
    folders.join(_SHARED)
    with disk_errors_as_state_errors(f"the checkpoint could not be moved into {folders.run}"):
        _take_shared(folders, saved, furthest)
    if not keeps_folders:
        folders.remove()


def _take_shared(folders: RoleFolders, saved: SavedRounds, furthest: Furthest | None) -> None:
    """Move the checkpoint and the model of the party that came furthest into the run's folder."""
    for party in saved.parties:
        different = folders.folder_of(party) / DIFFERENT_FILE
        if different.exists():
            # One party's word is enough: another may have stopped before it could compare.
            different.replace(folders.run / DIFFERENT_FILE)
            return
    if furthest is None:
        return
    with suppress(StateError):
        # A recovery that was cut short has moved the furthest already: what is left came less far.
        if _reach(_read(folders.run, saved)) >= _reach(furthest):
            return
    for name in _SHARED:
        path = furthest.folder / name
        if path.exists():
            path.replace(folders.run / name)
