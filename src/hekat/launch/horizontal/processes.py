"""`hekat run --processes` of a horizontal job: comparisons in this process, then every role in one of its own."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from hekat.engine.tenancy import declare_tenancy
from hekat.errors import PartyLostError, PartyStoppedError
from hekat.job.horizontal.job_file import PROTOCOL
from hekat.job.load_any_job import check_may_run
from hekat.launch.horizontal.comparisons import Comparer
from hekat.launch.horizontal.in_process import dropouts_of
from hekat.launch.horizontal.rehearsed_dropouts import check_dropouts
from hekat.launch.horizontal.role_folders import find_furthest, join_role_folders
from hekat.launch.local.processes import ROLES_AT_ONCE, JobFiles, RoleProcesses
from hekat.launch.run_result import RunResult
from hekat.protocol.horizontal.stop_origin import trace_to_origin
from hekat.protocol.role_session import LEDGER_FOLDER
from hekat.run.horizontal.load_inputs import HorizontalInputs
from hekat.run.horizontal.role_run import EXACTNESS_NEEDS_ONE_PROCESS, phase_of
from hekat.run.horizontal.saved_rounds import saved_rounds_of
from hekat.run.progress import Progress, Silence
from hekat.run.rows.upload_states import check_upload_states
from hekat.run.run_events import logged_run
from hekat.run.session_keys import session_keys, write_public_keys
from hekat.state import EventLog, RunDirectory, create_run_directory
from hekat.summary.horizontal.aggregator_view import view_of_aggregator
from hekat.summary.horizontal.finished_run import FinishedRun
from hekat.summary.horizontal.role_result import RoleResult
from hekat.summary.horizontal.summary import summarise
from hekat.summary.horizontal.traffic import Traffic
from hekat.summary.result_file import RESULT_FILE
from hekat.summary.summary_format import write_summary


def run_job_in_processes(
    inputs: HorizontalInputs,
    files: JobFiles,
    root: Path,
    progress: Progress | None = None,
    *,
    dropouts: Mapping[str, int] | None = None,
) -> RunResult:
    """Run a loaded job, each role in a process of its own; everything that is written lies in a new folder.

    `files` are those that `inputs` were loaded from; `dropouts` as in `run_job`, and so is what is raised.
    """
    check_dropouts(inputs.job.settings, dropouts or {}, 0)
    check_may_run(inputs.site, inputs.job)
    check_upload_states(inputs, None, root)
    with declare_tenancy(inputs.site.machine.single_tenant):
        directory = create_run_directory(root)
        with logged_run(directory, inputs.job.name, inputs.job.settings.parties, PROTOCOL) as events:
            shown = progress or Silence()
            shown.open_folder(directory.path)
            return _Run(inputs, files, directory, events, shown, dropouts or {}).run()


@dataclass
class _Run:
    inputs: HorizontalInputs
    files: JobFiles
    directory: RunDirectory
    events: EventLog
    progress: Progress
    rehearsed: Mapping[str, int]
    _rounds: int = 0
    _telling: threading.Lock = field(default_factory=threading.Lock)

    def run(self) -> RunResult:
        inputs, job, folder = self.inputs, self.inputs.job, self.directory.path
        keys = session_keys(inputs.party_keys, job.settings.everyone)
        comparisons = Comparer(inputs, self.directory.run_id, keys, self.events, self.progress).compare()
        write_public_keys(folder, keys)
        processes = RoleProcesses(
            self.files,
            job,
            self.directory,
            keys,
            may_drop_out=job.settings.parties if job.settings.bears_dropouts else (),
            options={party: ["--lose", f"{party}:{number}"] for party, number in self.rehearsed.items()},
            on_dropout=self._note_dropout,
            on_begin=lambda: self.progress.begin(phase_of(job), job.settings.training.round_count),
            told=self._tell,
            trace=lambda error, lost: trace_to_origin(error, lost, job.settings.aggregator),
        )
        try:
            processes.play()
            results = self._results(processes)
            _check_one_finished(results, processes.dropouts)
        except PartyStoppedError as error:
            furthest = find_furthest(processes.folders, saved_rounds_of(job))
            stop = error if furthest is None else error.with_saved(f"checkpoint of round {furthest.rounds_done}")
            raise stop from error.__cause__
        finally:
            join_role_folders(processes.folders, saved_rounds_of(job))
        run = FinishedRun(job.settings, results, processes.seconds, dropouts_of(processes.dropouts))
        aggregator = job.settings.aggregator
        summary = summarise(
            job,
            self.directory.run_id,
            run,
            test_table=inputs.test_facts,
            alone=comparisons.alone,
            plain=comparisons.plain,
            compared=comparisons.bits,
            view=view_of_aggregator(folder / LEDGER_FOLDER / f"{aggregator}.jsonl", keys[aggregator].public),
            played="at once",
            more_caveats=[ROLES_AT_ONCE, *([EXACTNESS_NEEDS_ONE_PROCESS] if job.check_exactness else [])],
        )
        write_summary(folder, summary)
        self.events.write("finished", rounds=run.trained.rounds_done)
        return RunResult(folder, summary)

    def _results(self, processes: RoleProcesses) -> dict[str, RoleResult]:
        """What each role left; of a process that was killed only what is known of its table.

        A party that was lost after its last round, as by a full disk, trained no model that is there.
        """
        settings, folders = self.inputs.job.settings, processes.folders
        lost = {error.party for error in processes.dropouts}
        results = {}
        for role in settings.everyone:
            if (folders.folder_of(role) / RESULT_FILE).is_file():
                left = folders.result_of(role, RoleResult, PROTOCOL)
                results[role] = replace(left, trained=None) if role in lost else left
            elif role in self.inputs.tables:
                facts = self.inputs.describe(self.inputs.tables[role])
                results[role] = RoleResult(role, 0.0, {}, Traffic(0, 0), facts)
        return results

    def _note_dropout(self, error: PartyLostError) -> None:
        self.events.write("lost", party=error.party, step=error.step, reason=error.reason)
        self.progress.note_dropout(error.party, error.step, error.reason)

    def _tell(self, role: str, event: Mapping[str, Any]) -> None:
        """Pass on a round, or the last validation, as the first party tells it."""
        if event.get("event") != "round":
            return
        with self._telling:
            if event["round"] <= self._rounds:
                return
            self._rounds = event["round"]
        told = {name: value for name, value in event.items() if name not in ("event", "time")}
        self.events.write("round", **told)
        self.progress.advance(phase_of(self.inputs.job), f"loss {event['loss']:.4f}")


def _check_one_finished(results: Mapping[str, RoleResult], dropouts: Sequence[PartyLostError]) -> None:
    """Raise PartyStoppedError, naming the last party that was lost, where none got to the end of training."""
    if not any(result.trained for result in results.values()):
        last = dropouts[-1]
        raise PartyStoppedError(last.what, party=last.party, step=last.step) from last.__cause__
