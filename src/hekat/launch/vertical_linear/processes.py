"""`hekat run --processes` of a vertical job: every role in a process of its own."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

from hekat.engine.tenancy import declare_tenancy
from hekat.errors import PartyStoppedError
from hekat.job.load_any_job import check_may_run
from hekat.job.vertical_linear.job_file import PROTOCOL
from hekat.launch.local.processes import ROLES_AT_ONCE, JobFiles, RoleProcesses
from hekat.launch.run_result import RunResult
from hekat.launch.vertical_linear.run import ON_ONE_MACHINE
from hekat.protocol.vertical.phases import TRAINING
from hekat.run.numbered_files import numbers_of
from hekat.run.progress import Progress, Silence
from hekat.run.run_events import logged_run
from hekat.run.session_keys import session_keys, write_public_keys
from hekat.run.vertical_linear.checkpoint_files import CHECKPOINTS_FOLDER
from hekat.run.vertical_linear.load_inputs import VerticalInputs
from hekat.run.vertical_linear.role_run import EXACTNESS_NEEDS_ONE_PROCESS
from hekat.state import create_run_directory
from hekat.summary.party_views import views_of_parties
from hekat.summary.summary_format import write_summary
from hekat.summary.vertical_linear.finished_run import FinishedVerticalRun
from hekat.summary.vertical_linear.role_result import VerticalResult
from hekat.summary.vertical_linear.summary import summarise_vertical

JOINED_ROWS_NEED_ONE_PROCESS = (
    "the run was not held against centralised training, as compare.centralised of the job asks for: that takes one "
    "process that plays all roles"
)


def run_vertical_in_processes(
    inputs: VerticalInputs, files: JobFiles, root: Path, progress: Progress | None = None
) -> RunResult:
    """Run a loaded job, each role in a process of its own; everything that is written lies in a new folder.

    `files` are those that `inputs` were loaded from. Raises as `run_vertical_job`.
    """
    job, settings = inputs.job, inputs.job.settings
    check_may_run(inputs.site, job)
    with declare_tenancy(inputs.site.machine.single_tenant):
        directory = create_run_directory(root)
        folder = directory.path
        with logged_run(directory, job.name, settings.everyone, PROTOCOL) as events:
            shown = progress or Silence()
            shown.open_folder(folder)

            def tell(role: str, event: Mapping[str, Any]) -> None:
                """Pass on what the guest tells of rows and epochs."""
                if role != settings.guest or event.get("event") not in ("intersection", "epoch"):
                    return
                events.write(**{name: value for name, value in event.items() if name != "time"})
                if event["event"] == "epoch":
                    loss = event["loss"]
                    shown.advance(TRAINING, f"epoch {event['epoch']}" + ("" if loss is None else f", loss {loss:.4f}"))

            keys = session_keys(inputs.party_keys, settings.everyone)
            public = write_public_keys(folder, keys)
            processes = RoleProcesses(
                files,
                job,
                directory,
                keys,
                on_begin=lambda: shown.begin(TRAINING, settings.training.epochs),
                told=tell,
            )
            folders = processes.folders
            try:
                processes.play()
                results = {role: folders.result_of(role, VerticalResult, PROTOCOL) for role in settings.everyone}
            except PartyStoppedError as error:
                epochs = [
                    max(numbers_of(folders.folder_of(party) / CHECKPOINTS_FOLDER, party, "epoch"), default=0)
                    for party in settings.parties
                ]
                stop = error.with_saved(f"checkpoints of epoch {min(epochs)}") if min(epochs) else error
                raise stop from error.__cause__
            finally:
                folders.gather()
            run = FinishedVerticalRun(job, results, processes.seconds)
            summary = summarise_vertical(
                run,
                directory.run_id,
                views=views_of_parties(folder, public),
                played="at once",
                more_caveats=[
                    ON_ONE_MACHINE,
                    ROLES_AT_ONCE,
                    *([EXACTNESS_NEEDS_ONE_PROCESS] if job.check_exactness else []),
                    *([JOINED_ROWS_NEED_ONE_PROCESS] if job.compare_centralised else []),
                ],
            )
            write_summary(folder, cast(dict[str, Any], summary))
            events.write("finished", epochs=len(run.epochs), seconds=run.seconds)
            return RunResult(folder, cast(dict[str, Any], summary))
