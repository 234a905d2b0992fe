"""Plays all roles of a run on columns in this process, in the run's folder, anew or from where it stopped."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hekat.channel import PartyKey
from hekat.disk_errors import disk_errors_as_state_errors
from hekat.errors import PartyStoppedError, StateError
from hekat.job.load_any_job import AnyJob, roles_of
from hekat.job.vertical.columns_job import ColumnsJob
from hekat.launch.local.role_folders import RoleFolders
from hekat.launch.vertical.run_observer import RunObserver
from hekat.protocol.in_process import make_sessions, play_in_process
from hekat.protocol.role_session import LEDGER_FOLDER, RoleSession
from hekat.run.progress import Progress
from hekat.run.session_keys import session_keys, write_public_keys
from hekat.run.timeout_hint import name_timeout_key
from hekat.run.vertical.checkpoint_files import CHECKPOINTS_FOLDER, CheckpointForm, PartyCheckpoint
from hekat.run.vertical.role import ColumnsRole, PartyOutcome
from hekat.state import EventLog, RunDirectory
from hekat.summary.party_views import PartyView, views_of_parties
from hekat.summary.summary_format import SUMMARY_FILE

ON_ONE_MACHINE = "all roles ran on this one machine, which therefore knows every party's rows"
JOINED_ROWS_NEED_ONE_PROCESS = (
    "the run was not held against centralised training, as compare.centralised of the job asks for: that takes one "
    "process that plays all roles"
)


@dataclass(frozen=True)
class PlayedHere:
    """What the roles of a run left: each one's result and outcome, and what its ledger says that it learned."""

    results: Mapping[str, Any]
    outcomes: Mapping[str, PartyOutcome[Any]]
    seconds: float
    views: list[PartyView]


def load_unfinished(form: CheckpointForm[Any], folder: Path, job: AnyJob) -> dict[str, PartyCheckpoint[Any]]:
    """Every party's checkpoint of a stopped run. Raises StateError where there is none, or the run is finished."""
    if (folder / SUMMARY_FILE).exists():
        raise StateError(
            f"the run in {folder} is finished",
            expected="a run that stopped before its end",
            got=f"a {SUMMARY_FILE}",
            cure=f"begin a new run, with more {form.word}s in the job file or, from this model on, with --start-from",
        )
    RoleFolders(folder, roles_of(job)).recover()
    assert isinstance(job, ColumnsJob)  # the caller's protocol has such jobs alone
    return form.load_all(folder / CHECKPOINTS_FOLDER, job)


def note_resumed(events: EventLog, folder: Path, form: CheckpointForm[Any], guest: PartyCheckpoint[Any]) -> None:
    """Write into the new run's log what it goes on from. Raises StateError."""
    events.write(
        "resumed",
        run=str(folder),
        **{f"{form.word}s_done": form.steps_of(guest.state)},
        begun_by=guest.releases[0],
        releases=guest.releases,
    )


def play_here(
    job: ColumnsJob,
    protocol: str,
    directory: RunDirectory,
    party_keys: Mapping[str, PartyKey],
    observer: RunObserver,
    progress: Progress,
    resumed: Mapping[str, PartyCheckpoint[Any]],
    make_roles: Callable[[Mapping[str, RoleSession]], Mapping[str, ColumnsRole[Any]]],
) -> PlayedHere:
    """Play every role in a thread of its own.

    `make_roles` makes the roles from their sessions. Raises PartyStoppedError where one failed, with what was saved;
    StateError where the disk takes no files.
    """
    folder = directory.path
    with disk_errors_as_state_errors(f"{folder / LEDGER_FOLDER} could not be made"):
        (folder / LEDGER_FOLDER).mkdir()
    for party, kept in resumed.items():
        observer.save(party, kept)
    keys = session_keys(party_keys, job.settings.everyone)
    public = write_public_keys(folder, keys)
    start = time.perf_counter()
    sessions = make_sessions(
        keys,
        run_id=directory.run_id,
        protocol=protocol,
        job_digest=job.digest,
        ledger_folder=folder / LEDGER_FOLDER,
        public_keys=job.party_keys,
    )
    for name, session in sessions.items():
        progress.watch(name, session)
    roles = make_roles(sessions)
    try:
        found = play_in_process({name: role.play for name, role in roles.items()}, timeout_s=job.timeout_s)
    except PartyStoppedError as error:
        raise observer.with_what_was_saved(error) from name_timeout_key(error.__cause__, job.timeout_s)
    seconds = time.perf_counter() - start
    return PlayedHere(
        results={name: role.result for name, role in roles.items()},
        outcomes={name: outcome for name, outcome in found.items() if outcome is not None},
        seconds=seconds,
        views=views_of_parties(folder, public),
    )
