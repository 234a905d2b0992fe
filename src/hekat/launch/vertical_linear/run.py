"""A vertical job as a run: rows matched, the model trained in parts, and what the run leaves behind in a folder.

events.jsonl        what happened, line by line
ledger/             every role's signed ledger, of matching and training
checkpoints/        each party's own state of the last epochs, mode 600
parts/              each party's own part of the trained model, mode 600
predicted/          how many rows each party's part has predicted, where the site keeps no such count itself
parties.json        the public keys that ledgers are audited by
summary.json        `summary_shape.VerticalSummary`
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

from hekat.channel import PartyKey
from hekat.disk_errors import disk_errors_as_state_errors
from hekat.engine.tenancy import declare_tenancy
from hekat.errors import PartyStoppedError, StateError
from hekat.job.load_any_job import check_may_run, roles_of
from hekat.job.vertical_linear.job_file import PROTOCOL
from hekat.job.vertical_linear.key_makers import key_makers
from hekat.launch.local.role_folders import RoleFolders
from hekat.launch.run_result import RunResult
from hekat.launch.vertical_linear.centralised import compare_centralised
from hekat.launch.vertical_linear.run_observer import RunObserver
from hekat.protocol.in_process import make_sessions, play_in_process
from hekat.protocol.role_session import LEDGER_FOLDER
from hekat.protocol.vertical_linear.exactness_check import ExactnessCheck
from hekat.protocol.vertical_linear.timing_labels import KEYS
from hekat.run.progress import Progress, Silence
from hekat.run.run_events import logged_run
from hekat.run.session_keys import session_keys, write_public_keys
from hekat.run.timeout_hint import name_timeout_key
from hekat.run.vertical_linear.checkpoint_files import (
    CHECKPOINTS_FOLDER,
    PartyCheckpoint,
    load_party_checkpoints,
)
from hekat.run.vertical_linear.load_inputs import VerticalInputs
from hekat.run.vertical_linear.prediction_count import PredictionCount
from hekat.run.vertical_linear.resume import as_begun
from hekat.run.vertical_linear.role import OwnStart, PartyOutcome, VerticalContext, VerticalRole
from hekat.run.vertical_linear.warm_start import WarmStart, load_warm_start, refuse_two_beginnings
from hekat.scheme.paillier import generate_keys
from hekat.state import EventLog, RunDirectory, create_run_directory
from hekat.summary.party_views import PartyView, views_of_parties
from hekat.summary.summary_format import SUMMARY_FILE, write_summary
from hekat.summary.vertical_linear.finished_run import FinishedVerticalRun
from hekat.summary.vertical_linear.summary import summarise_vertical

ON_ONE_MACHINE = "all roles ran on this one machine, which therefore knows every party's rows"


def run_vertical_job(
    inputs: VerticalInputs,
    root: Path,
    progress: Progress | None = None,
    *,
    resume_from: Path | None = None,
    start_from: Path | None = None,
) -> RunResult:
    """Run a loaded job on this machine; everything it writes lies in a new folder under `root`.

    `resume_from` is the folder of an earlier run of the same job: rows are matched anew, must be the same, and training
    goes on from the last epoch that every party saved, in a new session and a new folder. `start_from` is the folder of
    an earlier, finished one, of this job or another: training begins with its weights (load_warm_start), not with
    zeros. Raises PartyStoppedError where a party failed, with what was saved; StateError where the disk takes no files.
    Before anything is written: StateError where there is nothing to resume or to start from, InputError where both are
    given or the weights are of another model than the job's; PolicyError for a job with party keys that not all roles
    here approved; EngineError where another run in this process says the opposite of the machine's tenancy.
    """
    refuse_two_beginnings(resume_from, start_from)
    check_may_run(inputs.site, inputs.job)
    with declare_tenancy(inputs.site.machine.single_tenant):
        start = None if start_from is None else load_warm_start(start_from, inputs)
        resumed = {} if resume_from is None else _load_unfinished(resume_from, inputs)
        inputs = _as_begun(inputs, resumed)
        directory = create_run_directory(root)
        with logged_run(directory, inputs.job.name, inputs.job.settings.everyone, PROTOCOL) as events:
            shown = progress or Silence()
            shown.open_folder(directory.path)
            if resume_from is not None:
                guest = resumed[inputs.job.settings.guest]
                events.write(
                    "resumed",
                    run=str(resume_from),
                    epochs_done=guest.state.epochs_done,
                    begun_by=guest.releases[0],
                    releases=guest.releases,
                )
            if start is not None:
                events.write("warm_start", run=str(start_from), run_id=start.run_id)
            return _Session(inputs, directory, events, shown, resumed, start).run()


def _load_unfinished(folder: Path, inputs: VerticalInputs) -> dict[str, PartyCheckpoint]:
    if (folder / SUMMARY_FILE).exists():
        raise StateError(
            f"the run in {folder} is finished",
            expected="a run that stopped before its end",
            got=f"a {SUMMARY_FILE}",
            cure="begin a new run, with more epochs in the job file if you want more",
        )
    RoleFolders(folder, roles_of(inputs.job)).recover()
    return load_party_checkpoints(folder / CHECKPOINTS_FOLDER, inputs.job)


def _as_begun(inputs: VerticalInputs, resumed: Mapping[str, PartyCheckpoint]) -> VerticalInputs:
    """The job with the limit on values that the resumed run had, if the job leaves it to the release."""
    limits = {kept.limit_spreads for kept in resumed.values()}
    if not limits:
        return inputs
    if len(limits) > 1:
        raise StateError(
            "the checkpoints are of runs with different limits on values",
            expected="one training.limit_spreads",
            got=", ".join(f"{limit:g}" for limit in sorted(limits)),
            cure="put the run's folder back as it was left, or begin a new run",
        )
    return as_begun(inputs, next(iter(resumed.values())))


class _Session:
    """One run's folder and roles."""

    def __init__(
        self,
        inputs: VerticalInputs,
        directory: RunDirectory,
        events: EventLog,
        progress: Progress,
        resumed: Mapping[str, PartyCheckpoint],
        start: WarmStart | None,
    ) -> None:
        self._inputs, self._job, self._folder = inputs, inputs.job, directory.path
        self._events, self._progress, self._resumed, self._start = events, progress, resumed, start
        self._run_id = directory.run_id
        done = {name: kept.state.epochs_done for name, kept in resumed.items()}
        self._observer = RunObserver(inputs, self._folder, events, progress, done)

    def run(self) -> RunResult:
        job, folder = self._job, self._folder
        with disk_errors_as_state_errors(f"{folder / LEDGER_FOLDER} could not be made"):
            (folder / LEDGER_FOLDER).mkdir()
        for party, kept in self._resumed.items():
            self._observer.save(party, kept)
        keys = session_keys(self._inputs.party_keys, job.settings.everyone)
        public = write_public_keys(folder, keys)
        check = ExactnessCheck(job.settings) if job.check_exactness else None
        start = time.perf_counter()
        roles = {name: VerticalRole(context) for name, context in self._contexts(keys, check).items()}
        try:
            found = play_in_process({name: role.play for name, role in roles.items()}, timeout_s=job.timeout_s)
        except PartyStoppedError as error:
            raise self._observer.with_what_was_saved(error) from name_timeout_key(error.__cause__, job.timeout_s)
        seconds = time.perf_counter() - start
        results = {name: role.result for name, role in roles.items()}
        run = FinishedVerticalRun(job, results, seconds, () if check is None else tuple(check.checks))
        outcomes = {name: outcome for name, outcome in found.items() if outcome is not None}
        return self._finish(run, outcomes, views_of_parties(folder, public))

    def _contexts(self, keys: Mapping[str, PartyKey], check: ExactnessCheck | None) -> dict[str, VerticalContext]:
        inputs, job, folder, start = self._inputs, self._job, self._folder, self._start
        sessions = make_sessions(
            keys,
            run_id=self._run_id,
            protocol=PROTOCOL,
            job_digest=job.digest,
            ledger_folder=folder / LEDGER_FOLDER,
            public_keys=job.party_keys,
        )
        for name, session in sessions.items():
            self._progress.watch(name, session)
        key_pairs = dict(inputs.key_pairs)
        for name in key_makers(job):
            if name not in key_pairs:
                # Here and not in the role's thread: it can take a minute, and Ctrl-C reaches only this one.
                with sessions[name].stopwatch.measure(KEYS):
                    key_pairs[name] = generate_keys(job.settings.key_bits, progress=self._progress.search_key)
        return {
            name: VerticalContext(
                job=job,
                role=name,
                session=session,
                table=inputs.tables.get(name),
                test_table=inputs.test_tables.get(name),
                key_pair=key_pairs.get(name),
                resumed=self._resumed.get(name),
                start=None if start is None else OwnStart(start.run_id, start.arrays.get(name)),
                observer=self._observer,
                count_predictions=lambda part, rows: PredictionCount.of(inputs.site, folder, part).add(rows),
                exactness_check=check,
            )
            for name, session in sessions.items()
        }

    def _finish(
        self, run: FinishedVerticalRun, outcomes: Mapping[str, PartyOutcome], views: list[PartyView]
    ) -> RunResult:
        epochs = run.epochs
        comparison = None
        if self._job.compare_centralised:
            comparison = compare_centralised(self._job, outcomes, [epoch["loss"] for epoch in epochs])
        summary = summarise_vertical(
            run,
            self._run_id,
            views=views,
            compared=None if comparison is None else comparison.compared,
            compared_results=() if comparison is None else comparison.results,
            more_caveats=[ON_ONE_MACHINE],
        )
        write_summary(self._folder, summary)
        self._events.write("finished", epochs=len(epochs), seconds=run.seconds)
        return RunResult(self._folder, cast(dict[str, Any], summary))
