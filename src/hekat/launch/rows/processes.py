"""`hekat run --processes` of a job on rows, whatever it trains: every role in a process of its own."""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Final, Generic, TypeVar

from hekat.channel import PartyKey
from hekat.engine.tenancy import declare_tenancy
from hekat.errors import PartyStoppedError
from hekat.job.load_any_job import check_may_run
from hekat.launch.local.processes import JobFiles, RoleProcesses
from hekat.launch.rows.note_dropout import note_dropout
from hekat.launch.rows.rehearsed_dropouts import check_dropouts
from hekat.launch.rows.role_folders import find_furthest, join_role_folders
from hekat.launch.run_result import RunResult
from hekat.protocol.horizontal.stop_origin import trace_to_origin
from hekat.protocol.role_session import LEDGER_FOLDER
from hekat.run.progress import Progress, Silence
from hekat.run.rows.inputs import RowsInputs
from hekat.run.rows.saved_rounds import SavedRounds
from hekat.run.rows.upload_states import check_upload_states
from hekat.run.run_events import logged_run
from hekat.run.session_keys import session_keys, write_public_keys
from hekat.state import EventLog, RunDirectory, create_run_directory
from hekat.summary.horizontal.aggregator_view import AggregatorView, view_of_aggregator
from hekat.summary.horizontal.role_result import RowsResult
from hekat.summary.horizontal.traffic import Traffic
from hekat.summary.result_file import RESULT_FILE
from hekat.summary.summary_format import write_summary

Inputs = TypeVar("Inputs", bound=RowsInputs)
R = TypeVar("R", bound=RowsResult)
FINAL: Final = "validation"
"""The event of what the final model was measured to be."""


@dataclass
class RunInProcesses(ABC, Generic[Inputs, R]):
    """One run, whose rounds, or iterations of trees, are told once, as the first party tells them."""

    inputs: Inputs
    files: JobFiles
    directory: RunDirectory
    events: EventLog
    progress: Progress
    rehearsed: Mapping[str, int]
    _told: int = 0
    _is_final_told: bool = False
    _telling: threading.Lock = field(default_factory=threading.Lock)

    protocol: ClassVar[str]
    result_type: ClassVar[type[RowsResult]]

    @property
    @abstractmethod
    def saved(self) -> SavedRounds:
        """How the job's checkpoints are read."""

    @property
    @abstractmethod
    def phase(self) -> str:
        """What the progress bar calls the run."""

    @property
    @abstractmethod
    def round_count(self) -> int:
        """The most rounds, or iterations."""

    @abstractmethod
    def describe(self, event: Mapping[str, Any]) -> str:
        """A round that a role told of, beside the progress bar."""

    @abstractmethod
    def has_model(self, result: R) -> bool:
        """Whether the role got to the end of training."""

    @abstractmethod
    def without_model(self, result: R) -> R:
        """The result of a role whose model is not there."""

    @abstractmethod
    def summarise(self, results: dict[str, R], processes: RoleProcesses, view: AggregatorView) -> tuple[Any, int]:
        """The run's summary and its rounds; `view` is what the aggregator's ledger says that it was sent."""

    def before(self, keys: Mapping[str, PartyKey]) -> None:
        """What is done in this process before the roles start."""

    def run(self) -> RunResult:
        job, folder, settings = self.inputs.job, self.directory.path, self.inputs.job.settings
        keys = session_keys(self.inputs.party_keys, settings.everyone)
        self.before(keys)
        write_public_keys(folder, keys)
        processes = RoleProcesses(
            self.files,
            job,
            self.directory,
            keys,
            may_drop_out=settings.parties if settings.bears_dropouts else (),
            options={party: ["--lose", f"{party}:{number}"] for party, number in self.rehearsed.items()},
            on_dropout=lambda error: note_dropout(self.events, self.progress, error),
            on_begin=lambda: self.progress.begin(self.phase, self.round_count),
            told=self._tell,
            trace=lambda error, lost: trace_to_origin(error, lost, settings.aggregator),
        )
        saved = self.saved
        try:
            processes.play()
            results = self._results(processes)
            if not any(map(self.has_model, results.values())):
                last = processes.dropouts[-1]
                raise PartyStoppedError(last.what, party=last.party, step=last.step) from last.__cause__
        except PartyStoppedError as error:
            furthest = find_furthest(processes.folders, saved)
            stop = error if furthest is None else error.with_saved(f"checkpoint of {saved.word} {furthest.rounds_done}")
            raise stop from error.__cause__
        finally:
            join_role_folders(processes.folders, saved)
        ledger = folder / LEDGER_FOLDER / f"{settings.aggregator}.jsonl"
        summary, done = self.summarise(results, processes, view_of_aggregator(ledger, keys[settings.aggregator].public))
        write_summary(folder, summary)
        self.events.write("finished", **{f"{saved.word}s": done})
        return RunResult(folder, summary)

    def _results(self, processes: RoleProcesses) -> dict[str, R]:
        """What each role left; of a process that was killed only what is known of its table.

        A party that was lost after its last round, as by a full disk, has no model that is there.
        """
        folders, lost = processes.folders, {error.party for error in processes.dropouts}
        results: dict[str, Any] = {}
        for role in self.inputs.job.settings.everyone:
            if (folders.folder_of(role) / RESULT_FILE).is_file():
                left: Any = folders.result_of(role, self.result_type, self.protocol)
                results[role] = self.without_model(left) if role in lost else left
            elif role in self.inputs.tables:
                facts = self.inputs.describe(self.inputs.tables[role])
                results[role] = self.result_type(role, 0.0, {}, Traffic(0, 0), facts)
        return results

    def _tell(self, role: str, event: Mapping[str, Any]) -> None:
        """Pass on a round, or an iteration, and the losses of the final model, as the first party tells them."""
        word = self.saved.word
        if event.get("event") == FINAL:
            with self._telling:
                if not self._is_final_told:
                    self._is_final_told = True
                    self.events.write(FINAL, **_without_head(event))
            return
        if event.get("event") != word:
            return
        with self._telling:
            if event[word] <= self._told:
                return
            self._told = event[word]
        self.events.write(word, **_without_head(event))
        self.progress.advance(self.phase, self.describe(event))


def _without_head(event: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in event.items() if name not in ("event", "time")}


def run_rows_in_processes(
    make: type[RunInProcesses[Inputs, Any]],
    inputs: Inputs,
    files: JobFiles,
    root: Path,
    progress: Progress | None,
    dropouts: Mapping[str, int] | None,
) -> RunResult:
    """Check that the run can begin, then play it in a new folder under `root`.

    `files` are those that `inputs` were loaded from. Raises as the run in one process.
    """
    job, rehearsed, shown = inputs.job, dropouts or {}, progress or Silence()
    check_dropouts(job.settings, rehearsed, 0)
    check_may_run(inputs.site, job)
    check_upload_states(inputs, None, root)
    with declare_tenancy(inputs.site.machine.single_tenant):
        directory = create_run_directory(root)
        with logged_run(directory, job.name, job.settings.parties, make.protocol) as events:
            shown.open_folder(directory.path)
            return make(inputs, files, directory, events, shown, rehearsed).run()
