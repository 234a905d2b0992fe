"""`hekat run --processes` of a horizontal job: comparisons in this process, then every role in one of its own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from hekat.channel import PartyKey
from hekat.job.horizontal.job_file import PROTOCOL
from hekat.launch.horizontal.comparisons import Comparer, Comparisons
from hekat.launch.horizontal.in_process import dropouts_of
from hekat.launch.local.processes import ROLES_AT_ONCE, JobFiles, RoleProcesses
from hekat.launch.rows.processes import RunInProcesses, run_rows_in_processes
from hekat.launch.run_result import RunResult
from hekat.run.horizontal.load_inputs import HorizontalInputs
from hekat.run.horizontal.role_run import EXACTNESS_NEEDS_ONE_PROCESS, phase_of
from hekat.run.horizontal.saved_rounds import saved_rounds_of
from hekat.run.progress import Progress
from hekat.run.rows.saved_rounds import SavedRounds
from hekat.summary.horizontal.aggregator_view import AggregatorView
from hekat.summary.horizontal.finished_run import FinishedRun
from hekat.summary.horizontal.role_result import RoleResult
from hekat.summary.horizontal.summary import summarise


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
    return run_rows_in_processes(_Run, inputs, files, root, progress, dropouts)


@dataclass
class _Run(RunInProcesses[HorizontalInputs, RoleResult]):
    _comparisons: Comparisons = field(default_factory=Comparisons)

    protocol = PROTOCOL
    result_type = RoleResult

    @property
    def saved(self) -> SavedRounds:
        return saved_rounds_of(self.inputs.job)

    @property
    def phase(self) -> str:
        return phase_of(self.inputs.job)

    @property
    def round_count(self) -> int:
        return self.inputs.job.settings.training.round_count

    def describe(self, event: Mapping[str, Any]) -> str:
        spent = event.get("privacy")
        return f"loss {event['loss']:.4f}" + (f", epsilon {spent['epsilon']:.3g}" if spent else "")

    def has_model(self, result: RoleResult) -> bool:
        return result.trained is not None

    def without_model(self, result: RoleResult) -> RoleResult:
        return replace(result, trained=None)

    def before(self, keys: Mapping[str, PartyKey]) -> None:
        comparer = Comparer(self.inputs, self.directory.run_id, keys, self.events, self.progress)
        self._comparisons = comparer.compare()

    def summarise(
        self, results: dict[str, RoleResult], processes: RoleProcesses, view: AggregatorView
    ) -> tuple[Any, int]:
        job = self.inputs.job
        run = FinishedRun(job.settings, results, processes.seconds, dropouts_of(processes.dropouts))
        summary = summarise(
            job,
            self.directory.run_id,
            run,
            test_table=self.inputs.test_facts,
            alone=self._comparisons.alone,
            plain=self._comparisons.plain,
            compared=self._comparisons.bits,
            view=view,
            played="at once",
            more_caveats=[ROLES_AT_ONCE, *([EXACTNESS_NEEDS_ONE_PROCESS] if job.check_exactness else [])],
        )
        return summary, run.trained.rounds_done
