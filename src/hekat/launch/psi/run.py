"""A set intersection as a run: a folder with events, ledgers, each learner's rows and a summary."""

from __future__ import annotations

import time
from pathlib import Path

from hekat.disk_errors import disk_errors_as_state_errors
from hekat.engine.tenancy import declare_tenancy
from hekat.job.load_any_job import check_may_run
from hekat.job.psi.job_file import PROTOCOL, IntersectionJob
from hekat.launch.run_result import RunResult
from hekat.protocol.in_process import make_sessions, play_in_process
from hekat.protocol.role_session import LEDGER_FOLDER
from hekat.run.progress import Progress, Silence
from hekat.run.psi.load_inputs import IntersectionInputs
from hekat.run.psi.own_rows import INTERSECTION_FOLDER, save_own_rows
from hekat.run.psi.role import IntersectionContext, IntersectionRole
from hekat.run.run_events import logged_run
from hekat.run.session_keys import session_keys, write_public_keys
from hekat.state import EventLog, RunDirectory, create_run_directory
from hekat.summary.party_views import views_of_parties
from hekat.summary.psi.summary import summarise
from hekat.summary.summary_format import write_summary

ON_ONE_MACHINE = "all parties ran on this one machine, which therefore knows every party's ids"


def run_intersection_job(inputs: IntersectionInputs, root: Path, progress: Progress | None = None) -> RunResult:
    """Run a loaded intersection on this machine; everything it writes lies in a new folder under `root`.

    Raises PartyStoppedError where a party failed, StateError where the disk takes no files, EngineError where another
    run in this process says the opposite of the machine's tenancy; PolicyError, before anything is written, for a job
    with party keys that not all parties here approved.
    """
    check_may_run(inputs.site, inputs.job)
    with declare_tenancy(inputs.site.machine.single_tenant):
        directory = create_run_directory(root)
        with logged_run(directory, inputs.job.name, inputs.job.settings.parties, PROTOCOL) as events:
            shown = progress or Silence()
            shown.open_folder(directory.path)
            return _run(inputs, directory, events, shown)


def _run(inputs: IntersectionInputs, directory: RunDirectory, events: EventLog, progress: Progress) -> RunResult:
    folder, job = directory.path, inputs.job
    make_folders(folder, job)
    keys = session_keys(inputs.party_keys, job.settings.parties)
    public = write_public_keys(folder, keys)
    sessions = make_sessions(
        keys,
        run_id=directory.run_id,
        protocol=PROTOCOL,
        job_digest=job.digest,
        ledger_folder=folder / LEDGER_FOLDER,
        public_keys=job.party_keys,
    )
    for name, session in sessions.items():
        progress.watch(name, session)
    roles = {
        name: IntersectionRole(
            IntersectionContext(job, name, session, inputs.ids[name], inputs.compared[name], progress.reach)
        )
        for name, session in sessions.items()
    }
    start = time.perf_counter()
    found = play_in_process({name: role.play for name, role in roles.items()}, timeout_s=job.timeout_s)
    seconds = time.perf_counter() - start
    for name, one in found.items():
        save_own_rows(folder, name, inputs.ids[name], one)
    summary = summarise(
        job,
        directory.run_id,
        {name: role.result for name, role in roles.items()},
        seconds=seconds,
        views=views_of_parties(folder, public),
        more_caveats=[ON_ONE_MACHINE],
    )
    write_summary(folder, summary)
    events.write("finished", seconds=seconds)
    return RunResult(folder, summary)


def make_folders(folder: Path, job: IntersectionJob) -> None:
    """The folders in a run's own for ledgers, and for rows where parties learn them. Raises StateError."""
    with disk_errors_as_state_errors(f"folders in {folder} could not be made"):
        (folder / LEDGER_FOLDER).mkdir()
        if not job.settings.cardinality_only:
            (folder / INTERSECTION_FOLDER).mkdir(mode=0o700)
