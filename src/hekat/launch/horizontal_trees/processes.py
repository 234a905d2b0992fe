"""`hekat run --processes` of trees across rows: every role in a process of its own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from hekat.job.horizontal_trees.job_file import PROTOCOL
from hekat.launch.horizontal.in_process import dropouts_of
from hekat.launch.local.processes import ROLES_AT_ONCE, JobFiles, RoleProcesses
from hekat.launch.rows.processes import RunInProcesses, run_rows_in_processes
from hekat.launch.run_result import RunResult
from hekat.run.horizontal_trees.checkpoints import saved_iterations_of
from hekat.run.horizontal_trees.iterations import phase_of
from hekat.run.horizontal_trees.load_inputs import RowTreesInputs
from hekat.run.progress import Progress
from hekat.run.rows.saved_rounds import SavedRounds
from hekat.summary.horizontal.aggregator_view import AggregatorView
from hekat.summary.horizontal_trees.finished_run import FinishedRowTreesRun
from hekat.summary.horizontal_trees.role_result import RowTreesResult
from hekat.summary.horizontal_trees.summary import summarise_row_trees


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
    return run_rows_in_processes(_Run, inputs, files, root, progress, dropouts)


@dataclass
class _Run(RunInProcesses[RowTreesInputs, RowTreesResult]):
    protocol = PROTOCOL
    result_type = RowTreesResult

    @property
    def saved(self) -> SavedRounds:
        return saved_iterations_of(self.inputs.job)

    @property
    def phase(self) -> str:
        return phase_of(self.inputs.job)

    @property
    def round_count(self) -> int:
        return self.inputs.job.settings.training.max_iter

    def describe(self, event: Mapping[str, Any]) -> str:
        return f"iteration {event['iteration']}, loss before it {event['loss']:.4f}"

    def has_model(self, result: RowTreesResult) -> bool:
        return result.grown is not None

    def without_model(self, result: RowTreesResult) -> RowTreesResult:
        return replace(result, grown=None)

    def summarise(
        self, results: dict[str, RowTreesResult], processes: RoleProcesses, view: AggregatorView
    ) -> tuple[Any, int]:
        run = FinishedRowTreesRun(self.inputs.job, results, processes.seconds, dropouts_of(processes.dropouts))
        summary = summarise_row_trees(
            run,
            self.directory.run_id,
            test_table=self.inputs.test_facts,
            view=view,
            played="at once",
            more_caveats=[ROLES_AT_ONCE],
        )
        return summary, run.grown.iterations_done
