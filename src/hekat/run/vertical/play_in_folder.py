"""Plays a role that is alone on its machine, in the open folder of its run."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

from hekat.errors import PartyStoppedError
from hekat.run.role_folder import Place, RoleFolder
from hekat.run.timeout_hint import name_timeout_key
from hekat.run.vertical.folder_observer import FolderObserver
from hekat.run.vertical.resume import ResumedPlay
from hekat.run.vertical.role import ColumnsRole
from hekat.run.vertical.steps import TrainingSteps


def observe_in_folder(
    steps: TrainingSteps, folder: RoleFolder, place: Place, resumed: ResumedPlay | None
) -> FolderObserver:
    """The observer of a role in `folder`; notes where a resumed role goes on, and keeps that. Raises StateError."""
    observer = FolderObserver(steps, folder, place.progress)
    if resumed is not None:
        done = {f"{steps.form.word}s_done": resumed.point.number}
        folder.events.write("resumed", run=resumed.folder.name, **done)
        if resumed.kept is not None:
            observer.save(place.role, resumed.kept)
    return observer


def play_in_folder(
    played: ColumnsRole[Any],
    place: Place,
    folder: RoleFolder,
    observer: FolderObserver,
    timeout_s: float,
    protocol: str,
) -> None:
    """Play the role and write its result, however it ends. Raises what the role raises, a time-out with the line of
    the job that sets it."""
    try:
        played.play(place.channel)
    except PartyStoppedError as error:
        # What lies here counts, whatever the party that stopped had saved.
        raise error.with_saved(observer.saved or error.saved) from error.__cause__
    except BaseException as error:
        raise (name_timeout_key(error, timeout_s) or error) from error.__cause__
    finally:
        with suppress(Exception):  # the role's own error matters, not its missing figures
            folder.write_result(played.result, protocol)
