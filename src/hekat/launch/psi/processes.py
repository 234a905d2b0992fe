"""`hekat run --processes` of a set intersection: every party in a process of its own."""

from __future__ import annotations

from pathlib import Path

from hekat.engine.tenancy import declare_tenancy
from hekat.job.load_any_job import check_may_run
from hekat.job.psi.job_file import PROTOCOL
from hekat.launch.local.processes import ROLES_AT_ONCE, JobFiles, RoleProcesses
from hekat.launch.psi.run import ON_ONE_MACHINE
from hekat.launch.run_result import RunResult
from hekat.run.progress import Progress, Silence
from hekat.run.psi.load_inputs import IntersectionInputs
from hekat.run.run_events import logged_run
from hekat.run.session_keys import session_keys, write_public_keys
from hekat.state import create_run_directory
from hekat.summary.party_views import views_of_parties
from hekat.summary.psi.role_result import IntersectionResult
from hekat.summary.psi.summary import summarise
from hekat.summary.summary_format import write_summary


def run_intersection_in_processes(
    inputs: IntersectionInputs, files: JobFiles, root: Path, progress: Progress | None = None
) -> RunResult:
    """Run a loaded intersection, each party in a process of its own; all that is written lies in a new folder.

    `files` are those that `inputs` were loaded from. Raises as `run_intersection_job`.
    """
    job, settings = inputs.job, inputs.job.settings
    check_may_run(inputs.site, job)
    with declare_tenancy(inputs.site.machine.single_tenant):
        directory = create_run_directory(root)
        folder = directory.path
        with logged_run(directory, job.name, settings.parties, PROTOCOL) as events:
            shown = progress or Silence()
            shown.open_folder(folder)
            keys = session_keys(inputs.party_keys, settings.parties)
            public = write_public_keys(folder, keys)
            processes = RoleProcesses(files, job, directory, keys)
            folders = processes.folders
            try:
                processes.play()
                results = {name: folders.result_of(name, IntersectionResult, PROTOCOL) for name in settings.parties}
            finally:
                folders.gather()
            summary = summarise(
                job,
                directory.run_id,
                results,
                seconds=processes.seconds,
                views=views_of_parties(folder, public),
                played="at once",
                more_caveats=[ON_ONE_MACHINE, ROLES_AT_ONCE],
            )
            write_summary(folder, summary)
            events.write("finished", seconds=processes.seconds)
            return RunResult(folder, summary)
