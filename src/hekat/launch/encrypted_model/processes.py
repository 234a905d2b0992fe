"""`hekat run --processes` of a training on an encrypted model: every role in a process of its own."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, cast

from hekat.engine.tenancy import declare_tenancy
from hekat.errors import PartyStoppedError
from hekat.job.encrypted_model.job_file import PROTOCOL
from hekat.job.load_any_job import check_may_run
from hekat.launch.local.processes import ROLES_AT_ONCE, JobFiles, RoleProcesses
from hekat.launch.local.role_folders import RoleFolders
from hekat.launch.run_result import RunResult
from hekat.launch.vertical.session import ON_ONE_MACHINE
from hekat.run.encrypted_model.checkpoint_files import saved_rounds
from hekat.run.encrypted_model.load_inputs import EncryptedModelInputs
from hekat.run.encrypted_model.rounds import ROUND, phase_of, say_round
from hekat.run.progress import Progress, Silence
from hekat.run.run_events import logged_run
from hekat.run.session_keys import session_keys, write_public_keys
from hekat.state import EventLog, create_run_directory
from hekat.summary.encrypted_model.finished_run import FinishedEncryptedModelRun
from hekat.summary.encrypted_model.role_result import EncryptedModelResult
from hekat.summary.encrypted_model.summary import summarise_encrypted_model
from hekat.summary.party_views import views_of_parties
from hekat.summary.summary_format import write_summary


def run_encrypted_model_in_processes(
    inputs: EncryptedModelInputs, files: JobFiles, root: Path, progress: Progress | None = None
) -> RunResult:
    """Run a loaded job, each role in a process of its own; everything that is written lies in a new folder.

    `files` are those that `inputs` were loaded from. Raises as `run_encrypted_model_job`.
    """
    job, settings = inputs.job, inputs.job.settings
    check_may_run(inputs.site, job)
    with declare_tenancy(inputs.site.machine.single_tenant):
        directory = create_run_directory(root)
        with logged_run(directory, job.name, settings.everyone, PROTOCOL) as events:
            shown = progress or Silence()
            shown.open_folder(directory.path)
            keys = session_keys(inputs.party_keys, settings.everyone)
            public = write_public_keys(directory.path, keys)
            on_begin: Callable[[], None] = lambda: shown.begin(phase_of(job), settings.training.rounds)  # noqa: E731
            processes = RoleProcesses(
                files, job, directory, keys, on_begin=on_begin, told=_teller(inputs, events, shown)
            )
            folders = processes.folders
            try:
                processes.play()
                results = {role: folders.result_of(role, EncryptedModelResult, PROTOCOL) for role in settings.everyone}
            except PartyStoppedError as error:
                raise _with_what_was_saved(error, folders) from error.__cause__
            finally:
                folders.gather()
            run = FinishedEncryptedModelRun(job, results, processes.seconds)
            summary = summarise_encrypted_model(
                run,
                directory.run_id,
                views=views_of_parties(directory.path, public),
                played="at once",
                more_caveats=[ON_ONE_MACHINE, ROLES_AT_ONCE],
            )
            write_summary(directory.path, cast(dict[str, Any], summary))
            events.write("finished", rounds=len(run.rounds), seconds=run.seconds)
            return RunResult(directory.path, cast(dict[str, Any], summary))


def _teller(
    inputs: EncryptedModelInputs, events: EventLog, shown: Progress
) -> Callable[[str, Mapping[str, Any]], None]:
    """Passes on what the owner tells of rounds."""

    def tell(role: str, event: Mapping[str, Any]) -> None:
        if role == inputs.job.settings.owner and event.get("event") == ROUND:
            events.write(**{name: value for name, value in event.items() if name != "time"})
            shown.advance(phase_of(inputs.job), say_round(event[ROUND], event["metrics"]))

    return tell


def _with_what_was_saved(error: PartyStoppedError, folders: RoleFolders) -> PartyStoppedError:
    """The same for the whole machine: a run goes on from the last round that every role saved."""
    number = min(max(saved_rounds(folders.folder_of(role), role), default=0) for role in folders.roles)
    return error.with_saved(f"checkpoint of round {number}") if number else error
