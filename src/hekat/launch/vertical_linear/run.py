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

from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

from hekat.engine.tenancy import declare_tenancy
from hekat.errors import StateError
from hekat.job.load_any_job import check_may_run
from hekat.job.vertical_linear.job_file import PROTOCOL
from hekat.job.vertical_linear.key_makers import key_makers
from hekat.launch.run_result import RunResult
from hekat.launch.vertical.run_observer import RunObserver
from hekat.launch.vertical.session import ON_ONE_MACHINE, load_unfinished, note_resumed, play_here
from hekat.launch.vertical_linear.centralised import compare_centralised
from hekat.protocol.role_session import RoleSession
from hekat.protocol.vertical_linear.exactness_check import ExactnessCheck
from hekat.protocol.vertical_linear.model_part import ModelPart
from hekat.protocol.vertical_linear.timing_labels import KEYS
from hekat.run.progress import Progress, Silence
from hekat.run.run_events import logged_run
from hekat.run.vertical.earlier_run import refuse_two_beginnings
from hekat.run.vertical.own_labels import check_keeps_flips, own_labels_of
from hekat.run.vertical.prediction_count import PredictionCount
from hekat.run.vertical.role import PartyOutcome
from hekat.run.vertical_linear.epochs import EPOCHS, EpochCheckpoint, steps_of_job
from hekat.run.vertical_linear.load_inputs import VerticalInputs
from hekat.run.vertical_linear.resume import as_begun
from hekat.run.vertical_linear.role import OwnStart, VerticalContext, VerticalRole
from hekat.run.vertical_linear.warm_start import WarmStart, load_warm_start
from hekat.scheme.paillier import generate_keys
from hekat.state import EventLog, RunDirectory, create_run_directory
from hekat.summary.party_views import PartyView
from hekat.summary.summary_format import write_summary
from hekat.summary.vertical_linear.finished_run import FinishedVerticalRun
from hekat.summary.vertical_linear.summary import summarise_vertical


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
    here approved; JobError where the guest keeps its flips of labels
    among runs; EngineError where another run in this process says the opposite of the machine's tenancy.
    """
    refuse_two_beginnings(resume_from, start_from)
    check_may_run(inputs.site, inputs.job)
    check_keeps_flips(inputs.site, inputs.job, root)
    with declare_tenancy(inputs.site.machine.single_tenant):
        start = None if start_from is None else load_warm_start(start_from, inputs)
        resumed = {} if resume_from is None else load_unfinished(EPOCHS, resume_from, inputs.job)
        inputs = _as_begun(inputs, resumed)
        directory = create_run_directory(root)
        with logged_run(directory, inputs.job.name, inputs.job.settings.everyone, PROTOCOL) as events:
            shown = progress or Silence()
            shown.open_folder(directory.path)
            if resume_from is not None:
                note_resumed(events, resume_from, EPOCHS, resumed[inputs.job.settings.guest])
            if start is not None:
                events.write("warm_start", run=str(start_from), run_id=start.run_id)
            return _Session(inputs, directory, events, shown, resumed, start).run()


def _as_begun(inputs: VerticalInputs, resumed: Mapping[str, EpochCheckpoint]) -> VerticalInputs:
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
        resumed: Mapping[str, EpochCheckpoint],
        start: WarmStart | None,
    ) -> None:
        self._inputs, self._job, self._directory = inputs, inputs.job, directory
        self._events, self._progress, self._resumed, self._start = events, progress, resumed, start
        self._observer = RunObserver(steps_of_job(inputs), directory.path, events, progress, resumed)
        self._check = ExactnessCheck(inputs.job.settings) if inputs.job.check_exactness else None

    def run(self) -> RunResult:
        job = self._job
        played = play_here(
            job,
            PROTOCOL,
            self._directory,
            self._inputs.party_keys,
            self._observer,
            self._progress,
            self._resumed,
            self._make_roles,
        )
        checks = () if self._check is None else tuple(self._check.checks)
        run = FinishedVerticalRun(job, played.results, played.seconds, checks)
        return self._finish(run, played.outcomes, played.views)

    def _make_roles(self, sessions: Mapping[str, RoleSession]) -> dict[str, VerticalRole]:
        inputs, job, folder, start = self._inputs, self._job, self._directory.path, self._start
        key_pairs = dict(inputs.key_pairs)
        for name in key_makers(job):
            if name not in key_pairs:
                # Here and not in the role's thread: it can take a minute, and Ctrl-C reaches only this one.
                with sessions[name].stopwatch.measure(KEYS):
                    key_pairs[name] = generate_keys(job.settings.key_bits, progress=self._progress.search_key)
        contexts = {
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
                own_labels=own_labels_of(inputs.site, job, name),
                count_predictions=lambda part, rows: PredictionCount.of(inputs.site, folder, part).add(rows),
                exactness_check=self._check,
            )
            for name, session in sessions.items()
        }
        return {name: VerticalRole(context) for name, context in contexts.items()}

    def _finish(
        self, run: FinishedVerticalRun, outcomes: Mapping[str, PartyOutcome[ModelPart]], views: list[PartyView]
    ) -> RunResult:
        epochs = run.epochs
        comparison = None
        if self._job.compare_centralised:
            comparison = compare_centralised(self._job, outcomes, [epoch["loss"] for epoch in epochs])
        summary = summarise_vertical(
            run,
            self._directory.run_id,
            views=views,
            compared=None if comparison is None else comparison.compared,
            compared_results=() if comparison is None else comparison.results,
            more_caveats=[ON_ONE_MACHINE],
        )
        write_summary(self._directory.path, summary)
        self._events.write("finished", epochs=len(epochs), seconds=run.seconds)
        return RunResult(self._directory.path, cast(dict[str, Any], summary))
