"""A set intersection as a run: a folder with events, ledgers, each learner's rows and a summary."""

from __future__ import annotations

import json
from pathlib import Path

from hekat.engine.tenancy import declare_tenancy
from hekat.job.load_any_job import check_may_run
from hekat.job.party_views import views_of_parties
from hekat.job.progress import Progress, Silence
from hekat.job.psi.federation import IntersectionFederation
from hekat.job.psi.job_file import PROTOCOL
from hekat.job.psi.outcome import summarise
from hekat.job.psi.own_rows import INTERSECTION_FOLDER, save_own_rows
from hekat.job.psi.prepare import PreparedIntersection
from hekat.job.run import SUMMARY_FILE, RunResult
from hekat.job.run_events import logged_run
from hekat.job.session_keys import session_keys, write_public_keys
from hekat.protocol.sealed_roles import LEDGER_FOLDER
from hekat.state import EventLog, RunDirectory, create_run_directory, replace_file
from hekat.state.disk_errors import disk_errors_as_state_errors


def run_intersection_job(prepared: PreparedIntersection, root: Path, progress: Progress | None = None) -> RunResult:
    """Run a prepared intersection on this machine; everything it writes lies in a new folder under `root`.

    Raises PartyStoppedError where a party failed, StateError where the disk takes no files, EngineError where another
    run in this process says the opposite of the machine's tenancy; PolicyError, before anything is written, for a job
    with party keys that not all parties here approved.
    """
    check_may_run(prepared.site, prepared.job)
    with declare_tenancy(prepared.site.machine.single_tenant):
        directory = create_run_directory(root)
        with logged_run(directory, prepared.job.name, prepared.job.settings.parties, PROTOCOL) as events:
            shown = progress or Silence()
            shown.open_folder(directory.path)
            return _run(prepared, directory, events, shown)


def _run(prepared: PreparedIntersection, directory: RunDirectory, events: EventLog, progress: Progress) -> RunResult:
    folder, settings = directory.path, prepared.job.settings
    with disk_errors_as_state_errors(f"folders in {folder} could not be made"):
        (folder / LEDGER_FOLDER).mkdir()
        if not settings.cardinality_only:
            (folder / INTERSECTION_FOLDER).mkdir(mode=0o700)
    keys = session_keys(prepared.party_keys, settings.parties)
    public = write_public_keys(folder, keys)
    federation = IntersectionFederation(
        prepared, keys, directory.run_id, folder / LEDGER_FOLDER, on_progress=progress.reach
    )
    results = federation.run()
    for name, found in results.items():
        save_own_rows(folder, name, prepared.ids[name], found)
    summary = summarise(federation, directory.run_id, results, views_of_parties(folder, public))
    replace_file(folder / SUMMARY_FILE, json.dumps(summary, indent=1, allow_nan=False).encode(), mode=0o644)
    events.write("finished", seconds=federation.seconds)
    return RunResult(folder, summary)
