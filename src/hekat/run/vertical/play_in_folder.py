"""Plays a role that is alone on its machine, in the open folder of its run."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

from hekat.errors import PartyStoppedError
from hekat.job.vertical.columns_job import ColumnsJob
from hekat.run.role_folder import Place, RoleFolder, alone_caveat, open_role_folder
from hekat.run.timeout_hint import name_timeout_key
from hekat.run.vertical.checkpoint_files import PartyCheckpoint
from hekat.run.vertical.folder_observer import FolderObserver
from hekat.run.vertical.resume import ResumedPlay, StoppedPart, resume_part
from hekat.run.vertical.role import ColumnsRole
from hekat.run.vertical.steps import TrainingSteps
from hekat.summary.party_views import PartyView
from hekat.summary.vertical.role_result import ColumnsResult


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


def play_whole_role(
    job: ColumnsJob,
    protocol: str,
    steps: TrainingSteps,
    place: Place,
    stopped: StoppedPart | None,
    make_role: Callable[[RoleFolder, FolderObserver, PartyCheckpoint[Any] | None], ColumnsRole[Any]],
    summarise: Callable[[ColumnsResult, str, list[PartyView], list[str]], Mapping[str, Any]],
) -> dict[str, Any]:
    """Play a role to its end in a new folder; returns the summary of what it knows.

    `stopped` is the role's run to resume: all roles agree on the step before anything is written. `make_role` makes the
    role in its open folder, from its own checkpoint where it is resumed; `summarise(result, run_id, views, caveats)`
    gives the summary of its end. Raises as `play_in_folder`; StateError where the disk takes no files.
    """
    resumed = None if stopped is None else resume_part(steps.form, stopped, job, place.channel)
    with open_role_folder(place, job.name, job.digest, protocol, job.settings.everyone) as folder:
        observer = observe_in_folder(steps, folder, place, resumed)
        played = make_role(folder, observer, None if resumed is None else resumed.kept)
        play_in_folder(played, place, folder, observer, job.timeout_s, protocol)
        result = played.result
        summary = summarise(result, folder.directory.run_id, [folder.view_ledger()], [alone_caveat(place.role)])
        folder.write_summary(summary)
        words = f"{steps.form.word}s"
        folder.events.write("finished", **{words: len(summary[words]), "seconds": result.seconds})
        return dict(summary)
