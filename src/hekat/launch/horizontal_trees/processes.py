"""`hekat run --processes` of trees across rows: every role in a process of its own."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, cast

from hekat.engine.tenancy import declare_tenancy
from hekat.errors import PartyLostError, PartyStoppedError
from hekat.job.horizontal_trees.job_file import PROTOCOL
from hekat.job.load_any_job import check_may_run
from hekat.launch.horizontal.in_process import dropouts_of
from hekat.launch.horizontal.rehearsed_dropouts import check_dropouts
from hekat.launch.horizontal.role_folders import find_furthest, join_role_folders
from hekat.launch.local.processes import ROLES_AT_ONCE, JobFiles, RoleProcesses
from hekat.launch.run_result import RunResult
from hekat.protocol.horizontal.stop_origin import trace_to_origin
from hekat.protocol.role_session import LEDGER_FOLDER
from hekat.run.horizontal_trees.checkpoints import saved_iterations_of
from hekat.run.horizontal_trees.iterations import phase_of
from hekat.run.horizontal_trees.load_inputs import RowTreesInputs
from hekat.run.progress import Progress, Silence
from hekat.run.rows.upload_states import check_upload_states
from hekat.run.run_events import logged_run
from hekat.run.session_keys import session_keys, write_public_keys
from hekat.state import EventLog, RunDirectory, create_run_directory
from hekat.summary.horizontal.aggregator_view import view_of_aggregator
from hekat.summary.horizontal.traffic import Traffic
from hekat.summary.horizontal_trees.finished_run import FinishedRowTreesRun
from hekat.summary.horizontal_trees.role_result import RowTreesResult
from hekat.summary.horizontal_trees.summary import summarise_row_trees
from hekat.summary.result_file import RESULT_FILE
from hekat.summary.summary_format import write_summary


def run_row_trees_in_processes(
    inputs: RowTreesInputs,
    files: JobFiles,
    root: Path,
    progress: Progress | None = None,
    *,
    dropouts: Mapping[str, int] | None = None,
) -> RunResult:
    """Run a loaded job, each role in a process of its own; everything that is written lies in a new folder.

    `files` are those that `inputs` were loaded from; `dropouts` as in `run_row_trees_job`, and so is what is raised.
    """
    job = inputs.job
    check_dropouts(job.settings, dropouts or {}, 0)
    check_may_run(inputs.site, job)
    check_upload_states(inputs, None, root)
    with declare_tenancy(inputs.site.machine.single_tenant):
        directory = create_run_directory(root)
        with logged_run(directory, job.name, job.settings.parties, PROTOCOL) as events:
            shown = progress or Silence()
            shown.open_folder(directory.path)
            return _Run(inputs, files, directory, events, shown, dropouts or {}).run()


@dataclass
class _Run:
    inputs: RowTreesInputs
    files: JobFiles
    directory: RunDirectory
    events: EventLog
    progress: Progress
    rehearsed: Mapping[str, int]
    _iterations: int = 0
    _telling: threading.Lock = field(default_factory=threading.Lock)

    def run(self) -> RunResult:
        inputs, job, folder = self.inputs, self.inputs.job, self.directory.path
        keys = session_keys(inputs.party_keys, job.settings.everyone)
        write_public_keys(folder, keys)
        processes = RoleProcesses(
            self.files,
            job,
            self.directory,
            keys,
            may_drop_out=job.settings.parties if job.settings.bears_dropouts else (),
            options={party: ["--lose", f"{party}:{number}"] for party, number in self.rehearsed.items()},
            on_dropout=self._note_dropout,
            on_begin=lambda: self.progress.begin(phase_of(job), job.settings.training.max_iter),
            told=self._tell,
            trace=lambda error, lost: trace_to_origin(error, lost, job.settings.aggregator),
        )
        saved = saved_iterations_of(job)
        try:
            processes.play()
            results = self._results(processes)
            if not any(result.grown for result in results.values()):
                last = processes.dropouts[-1]
                raise PartyStoppedError(last.what, party=last.party, step=last.step) from last.__cause__
        except PartyStoppedError as error:
            furthest = find_furthest(processes.folders, saved)
            stop = error if furthest is None else error.with_saved(f"checkpoint of iteration {furthest.rounds_done}")
            raise stop from error.__cause__
        finally:
            join_role_folders(processes.folders, saved)
        run = FinishedRowTreesRun(job, results, processes.seconds, dropouts_of(processes.dropouts))
        aggregator = job.settings.aggregator
        summary = summarise_row_trees(
            run,
            self.directory.run_id,
            test_table=inputs.test_facts,
            view=view_of_aggregator(folder / LEDGER_FOLDER / f"{aggregator}.jsonl", keys[aggregator].public),
            played="at once",
            more_caveats=[ROLES_AT_ONCE],
        )
        write_summary(folder, summary)
        self.events.write("finished", iterations=run.grown.iterations_done)
        return RunResult(folder, cast(dict[str, Any], summary))

    def _results(self, processes: RoleProcesses) -> dict[str, RowTreesResult]:
        """What each role left; of a process that was killed only what is known of its table.

        A party that was lost after its last iteration, as by a full disk, has no model that is there.
        """
        folders, lost = processes.folders, {error.party for error in processes.dropouts}
        results = {}
        for role in self.inputs.job.settings.everyone:
            if (folders.folder_of(role) / RESULT_FILE).is_file():
                left = folders.result_of(role, RowTreesResult, PROTOCOL)
                results[role] = replace(left, grown=None) if role in lost else left
            elif role in self.inputs.tables:
                facts = self.inputs.describe(self.inputs.tables[role])
                results[role] = RowTreesResult(role, 0.0, {}, Traffic(0, 0), facts)
        return results

    def _note_dropout(self, error: PartyLostError) -> None:
        self.events.write("lost", party=error.party, step=error.step, reason=error.reason)
        self.progress.note_dropout(error.party, error.step, error.reason)

    def _tell(self, role: str, event: Mapping[str, Any]) -> None:
        """Pass on an iteration as the first party tells it."""
        if event.get("event") != "iteration":
            return
        with self._telling:
            if event["iteration"] <= self._iterations:
                return
            self._iterations = event["iteration"]
        told = {name: value for name, value in event.items() if name not in ("event", "time")}
        self.events.write("iteration", **told)
        loss = f"loss before it {event['loss']:.4f}"
        self.progress.advance(phase_of(self.inputs.job), f"iteration {event['iteration']}, {loss}")
