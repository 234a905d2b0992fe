"""A job on columns as a run on this machine, of whatever protocol: all roles in this process, or each in its own.

What a run leaves in its folder:

events.jsonl        what happened, line by line
ledger/             every role's signed ledger, of matching and training
checkpoints/        each party's own state of the last steps, mode 600
parts/              each party's own part of the trained model, mode 600
predicted/          how many rows each party's part has predicted, where the site keeps no such count itself
parties.json        the public keys that ledgers are audited by
summary.json        as the protocol's summary says
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, Protocol, TypeVar, cast

from hekat.channel import PartyKey
from hekat.engine.tenancy import declare_tenancy
from hekat.job.load_any_job import AnyJob, check_may_run
from hekat.job.site_file import Site
from hekat.job.vertical.columns_job import ColumnsJob
from hekat.launch.local.processes import ROLES_AT_ONCE, JobFiles
from hekat.launch.run_result import RunResult
from hekat.launch.vertical.processes import play_in_processes
from hekat.launch.vertical.run_observer import RunObserver
from hekat.launch.vertical.session import (
    JOINED_ROWS_NEED_ONE_PROCESS,
    ON_ONE_MACHINE,
    PlayedHere,
    load_unfinished,
    note_resumed,
    play_here,
)
from hekat.protocol.role_session import RoleSession
from hekat.run.progress import Progress, Silence
from hekat.run.run_events import logged_run
from hekat.run.vertical.checkpoint_files import PartyCheckpoint
from hekat.run.vertical.earlier_run import refuse_two_beginnings
from hekat.run.vertical.role import ColumnsRole
from hekat.run.vertical.steps import TrainingSteps
from hekat.state import EventLog, RunDirectory, create_run_directory
from hekat.summary.summary_format import write_summary


class LoadedJob(Protocol):
    """What was loaded of a job on columns, of whatever protocol."""

    @property
    def job(self) -> AnyJob: ...

    @property
    def site(self) -> Site: ...

    @property
    def party_keys(self) -> dict[str, PartyKey]: ...


class Beginning(Protocol):
    """The run whose model a training begins with."""

    @property
    def run_id(self) -> str: ...


B = TypeVar("B", bound=Beginning)
Summarise = Callable[[PlayedHere, str, list[str]], Mapping[str, Any]]
"""The summary of what roles left, of a run's id and with these caveats besides its own."""


@dataclass(frozen=True)
class RoleOfRun(Generic[B]):
    """What a protocol makes a role from: its session, the run's `folder` and `observer`, the party's own checkpoint of
    a resumed run, and the model that training begins with."""

    name: str
    session: RoleSession
    folder: Path
    observer: RunObserver
    resumed: PartyCheckpoint[Any] | None
    start: B | None


def run_here(
    inputs: LoadedJob,
    protocol: str,
    steps: TrainingSteps,
    root: Path,
    progress: Progress | None,
    *,
    resume_from: Path | None,
    start_from: Path | None,
    load_start: Callable[[Path], B],
    make_role: Callable[[RoleOfRun[B]], ColumnsRole[Any]],
    summarise: Summarise,
) -> RunResult:
    """Run a loaded job in this process; everything it writes lies in a new folder under `root`.

    `resume_from` is the folder of an earlier run of the same job: rows are matched anew, must be the same, and training
    goes on from the last step that every party saved, in a new session and a new folder. `start_from` is the folder of
    an earlier, finished one, whose model `load_start` reads.

    Raises PartyStoppedError where a party failed, with what was saved; StateError where the disk takes no files.
    Before anything is written: StateError where there is nothing to resume or to start from, InputError where both are
    given or the model is of another job's kind; PolicyError for a job with party keys that not all roles here approved;
    EngineError where another run in this process says the opposite of the machine's tenancy.
    """
    job = inputs.job
    assert isinstance(job, ColumnsJob)  # the caller's protocol has such jobs alone
    refuse_two_beginnings(resume_from, start_from)
    check_may_run(inputs.site, inputs.job)
    with declare_tenancy(inputs.site.machine.single_tenant):
        start = None if start_from is None else load_start(start_from)
        resumed = {} if resume_from is None else load_unfinished(steps.form, resume_from, inputs.job)
        directory = create_run_directory(root)
        with logged_run(directory, job.name, job.settings.everyone, protocol) as events:
            shown = progress or Silence()
            shown.open_folder(directory.path)
            if resume_from is not None:
                note_resumed(events, resume_from, steps.form, resumed[job.settings.guest])
            if start is not None:
                events.write("warm_start", run=str(start_from), run_id=start.run_id)
            observer = RunObserver(steps, directory.path, events, shown, resumed)

            def make_roles(sessions: Mapping[str, RoleSession]) -> dict[str, ColumnsRole[Any]]:
                return {
                    name: make_role(RoleOfRun(name, session, directory.path, observer, resumed.get(name), start))
                    for name, session in sessions.items()
                }

            played = play_here(job, protocol, directory, inputs.party_keys, observer, shown, resumed, make_roles)
            summary = summarise(played, directory.run_id, [ON_ONE_MACHINE])
            return _end(directory, events, steps, played, summary)


def run_apart(
    inputs: LoadedJob,
    protocol: str,
    steps: TrainingSteps,
    result_kind: type[Any],
    files: JobFiles,
    root: Path,
    progress: Progress | None,
    summarise: Summarise,
) -> RunResult:
    """Run a loaded job, each role in a process of its own; everything that is written lies in a new folder.

    `files` are those that `inputs` were loaded from. Raises as `run_here`.
    """
    job = inputs.job
    assert isinstance(job, ColumnsJob)  # the caller's protocol has such jobs alone
    check_may_run(inputs.site, inputs.job)
    with declare_tenancy(inputs.site.machine.single_tenant):
        directory = create_run_directory(root)
        with logged_run(directory, job.name, job.settings.everyone, protocol) as events:
            shown = progress or Silence()
            shown.open_folder(directory.path)
            played = play_in_processes(
                inputs.job, steps, protocol, result_kind, files, directory, inputs.party_keys, events, shown
            )
            caveats = [
                ON_ONE_MACHINE,
                ROLES_AT_ONCE,
                *([JOINED_ROWS_NEED_ONE_PROCESS] if job.compare_centralised else []),
            ]
            return _end(directory, events, steps, played, summarise(played, directory.run_id, caveats))


def _end(
    directory: RunDirectory, events: EventLog, steps: TrainingSteps, played: PlayedHere, summary: Mapping[str, Any]
) -> RunResult:
    """Write the summary, and into the log that the run is finished."""
    write_summary(directory.path, summary)
    words = f"{steps.form.word}s"
    events.write("finished", **{words: len(summary[words]), "seconds": played.seconds})
    return RunResult(directory.path, cast(dict[str, Any], summary))
