"""`hekat run --processes` of a vertical regression: every role in a process of its own."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

from hekat.engine.tenancy import declare_tenancy
from hekat.job.load_any_job import check_may_run
from hekat.job.vertical_linear.job_file import PROTOCOL
from hekat.launch.local.processes import ROLES_AT_ONCE, JobFiles
from hekat.launch.run_result import RunResult
from hekat.launch.vertical.processes import play_in_processes
from hekat.launch.vertical.session import JOINED_ROWS_NEED_ONE_PROCESS, ON_ONE_MACHINE
from hekat.run.progress import Progress, Silence
from hekat.run.run_events import logged_run
from hekat.run.vertical.own_labels import check_keeps_flips
from hekat.run.vertical_linear.epochs import steps_of_job
from hekat.run.vertical_linear.load_inputs import VerticalInputs
from hekat.run.vertical_linear.role_run import EXACTNESS_NEEDS_ONE_PROCESS
from hekat.state import create_run_directory
from hekat.summary.summary_format import write_summary
from hekat.summary.vertical_linear.finished_run import FinishedVerticalRun
from hekat.summary.vertical_linear.role_result import VerticalResult
from hekat.summary.vertical_linear.summary import summarise_vertical


def run_vertical_in_processes(
    inputs: VerticalInputs, files: JobFiles, root: Path, progress: Progress | None = None
) -> RunResult:
    """Run a loaded job, each role in a process of its own; everything that is written lies in a new folder.

    `files` are those that `inputs` were loaded from. Raises as `run_vertical_job`.
    """
    job = inputs.job
    check_may_run(inputs.site, job)
    check_keeps_flips(inputs.site, job, root)
    with declare_tenancy(inputs.site.machine.single_tenant):
        directory = create_run_directory(root)
        with logged_run(directory, job.name, job.settings.everyone, PROTOCOL) as events:
            shown = progress or Silence()
            shown.open_folder(directory.path)
            steps = steps_of_job(inputs)
            played = play_in_processes(
                job, steps, PROTOCOL, VerticalResult, files, directory, inputs.party_keys, events, shown
            )
            run = FinishedVerticalRun(job, played.results, played.seconds)
            summary = summarise_vertical(
                run,
                directory.run_id,
                views=played.views,
                played="at once",
                more_caveats=[
                    ON_ONE_MACHINE,
                    ROLES_AT_ONCE,
                    *([EXACTNESS_NEEDS_ONE_PROCESS] if job.check_exactness else []),
                    *([JOINED_ROWS_NEED_ONE_PROCESS] if job.compare_centralised else []),
                ],
            )
            write_summary(directory.path, cast(dict[str, Any], summary))
            events.write("finished", epochs=len(run.epochs), seconds=run.seconds)
            return RunResult(directory.path, cast(dict[str, Any], summary))
