"""A job of trees across rows as a run: all roles in this process, and what the run leaves behind in a folder.

events.jsonl        what happened, line by line
ledger/             every role's signed ledger
checkpoint.npz      the state of the last iteration, the same at every party
model.npz           the trained model, the same at every party
rows/               which rows each party trained on, to recognise them
state/              upload numbers and release records, where the site keeps none
parties.json        the public keys that ledgers are audited by
summary.json        `summary_shape.RowTreesSummary`
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, cast

from hekat.channel import PartyKey
from hekat.disk_errors import disk_errors_as_state_errors
from hekat.engine.tenancy import declare_tenancy
from hekat.errors import PartyStoppedError
from hekat.job.horizontal.drawn_members import check_members_of
from hekat.job.horizontal_trees.job_file import PROTOCOL
from hekat.job.load_any_job import check_may_run, roles_of
from hekat.launch.horizontal.in_process import dropouts_of
from hekat.launch.horizontal.run import ROLES_TOOK_TURNS
from hekat.launch.local.role_folders import RoleFolders
from hekat.launch.rows.note_dropout import note_dropout
from hekat.launch.rows.play_roles import play_rows_roles
from hekat.launch.rows.rehearsed_dropouts import check_dropouts
from hekat.launch.rows.role_folders import recover_role_folders
from hekat.launch.rows.sessions import open_sessions
from hekat.launch.run_result import RunResult
from hekat.ledger.ledger_files import pack_ledgers
from hekat.protocol.horizontal_trees.state import TreesState
from hekat.protocol.horizontal_trees.training import IterationRecord
from hekat.protocol.role_session import LEDGER_FOLDER
from hekat.protocol.secure_sum.masked.upload_state import UploadState
from hekat.run.horizontal.trained_model import MODEL_FILE
from hekat.run.horizontal_trees.checkpoints import (
    load_unfinished_trees,
    save_checkpoint_in,
    saved_iterations_of,
    say_checkpoint,
)
from hekat.run.horizontal_trees.evaluation import evaluation_of
from hekat.run.horizontal_trees.iterations import describe_iteration, phase_of, write_final, write_iteration
from hekat.run.horizontal_trees.load_inputs import RowTreesInputs
from hekat.run.horizontal_trees.role import RowTreesContext, RowTreesObserver, RowTreesRole
from hekat.run.horizontal_trees.trained_trees import save_trained_trees
from hekat.run.progress import Progress, Silence
from hekat.run.rows.different_models import says_models_differ, set_checkpoints_aside
from hekat.run.rows.kept_rows import check_rows_kept, keep_rows
from hekat.run.rows.upload_states import (
    check_upload_states,
    keep_states_in,
    open_states,
    roles_without_own_folder,
)
from hekat.run.run_events import logged_run
from hekat.run.session_keys import session_keys, write_public_keys
from hekat.run.timeout_hint import name_timeout_key
from hekat.state import EventLog, RunDirectory, create_run_directory
from hekat.summary.horizontal.aggregator_view import view_of_aggregator
from hekat.summary.horizontal_trees.finished_run import FinishedRowTreesRun
from hekat.summary.horizontal_trees.summary import summarise_row_trees
from hekat.summary.summary_format import SUMMARY_FILE, write_summary


def run_row_trees_job(
    inputs: RowTreesInputs,
    root: Path,
    progress: Progress | None = None,
    *,
    resume_from: Path | None = None,
    dropouts: Mapping[str, int] | None = None,
) -> RunResult:
    """Run a loaded job on this machine; everything it writes lies in a new folder under `root`.

    `resume_from` is the folder of an earlier run of the same job: trees grow on from its checkpoint in a new session
    and a new folder. `dropouts` names parties that leave in the middle of an iteration, to see what becomes of the run.
    Raises PartyStoppedError where a party failed, with what was saved; StateError where the disk takes no files. Before
    anything is written: StateError where there is nothing to resume or upload numbers are lost; PolicyError for
    drop-outs that cannot be, or for a job with party keys that not all parties here approved; BudgetError where the
    iterations would pass a party's privacy budget; EngineError where another run in this process says the opposite of
    the machine's tenancy.
    """
    job = inputs.job
    with declare_tenancy(inputs.site.machine.single_tenant):
        resumed = None
        if resume_from is not None:
            recover_role_folders(RoleFolders(resume_from, roles_of(job)), saved_iterations_of(job))
            check_rows_kept(resume_from, inputs.tables)
            # A disk that filled up in between leaves a model without the summary.
            is_finished = all((resume_from / name).is_file() for name in (MODEL_FILE, SUMMARY_FILE))
            resumed = load_unfinished_trees(resume_from, job, is_finished=is_finished)
        done = 0 if resumed is None else resumed.iterations_done
        check_dropouts(job.settings, dropouts or {}, done)
        check_may_run(inputs.site, job)
        check_upload_states(inputs, resume_from, root, done)
        directory = create_run_directory(root)
        with logged_run(directory, job.name, job.settings.parties, PROTOCOL) as events:
            shown = progress or Silence()
            shown.open_folder(directory.path)
            if resume_from is not None:
                events.write("resumed", run=str(resume_from), iterations_done=done)
            return _Run(inputs, directory, events, shown, dropouts or {}).run(resumed, resume_from)


@dataclass
class _Run(RowTreesObserver):
    """One run's folder and events; takes each iteration, and each state to save, from the first party that tells it."""

    inputs: RowTreesInputs
    directory: RunDirectory
    events: EventLog
    progress: Progress
    dropouts: Mapping[str, int]
    _iterations: int = 0
    _saved: tuple[int, bool] = (0, False)
    _told: str = ""
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def run(self, resumed: TreesState | None, resumed_folder: Path | None) -> RunResult:
        inputs, job, folder = self.inputs, self.inputs.job, self.directory.path
        keys = session_keys(inputs.party_keys, job.settings.everyone)
        if roles_without_own_folder(inputs):
            keep_states_in(folder, resumed_folder)
        with disk_errors_as_state_errors(f"{folder / LEDGER_FOLDER} could not be made"):
            (folder / LEDGER_FOLDER).mkdir()
        write_public_keys(folder, keys)
        if resumed is not None:
            # So that this folder is whole from the first iteration on, as the one before it was.
            self.save(resumed)
        with open_states(inputs, job.settings, folder) as states:
            finished, state = self._train(keys, states, resumed)
        leader = inputs.tables[job.settings.leader]
        save_trained_trees(folder / MODEL_FILE, job, state, leader.feature_names)
        aggregator = job.settings.aggregator
        summary = summarise_row_trees(
            finished,
            self.directory.run_id,
            test_table=inputs.test_facts,
            view=view_of_aggregator(folder / LEDGER_FOLDER / f"{aggregator}.jsonl", keys[aggregator].public),
            more_caveats=[ROLES_TOOK_TURNS],
        )
        write_summary(folder, summary)
        pack_ledgers(folder / LEDGER_FOLDER)
        self.events.write("finished", iterations=state.iterations_done)
        return RunResult(folder, cast(dict[str, Any], summary))

    def note_iteration(self, record: IterationRecord, state: TreesState) -> None:
        with self._lock:
            if record.iteration > self._iterations:
                self._iterations = record.iteration
                write_iteration(self.events, self.inputs.job, record)
                self.progress.advance(phase_of(self.inputs.job), describe_iteration(record))

    def save(self, state: TreesState) -> str:
        with self._lock:
            reached = (state.iterations_done, state.measured)
            if reached > self._saved:
                keep_rows(self.directory.path, self.inputs.tables)
                save_checkpoint_in(self.directory.path, self.inputs.job, state)
                self._saved, self._told = reached, say_checkpoint(state)
                if state.measured:
                    write_final(self.events, self.inputs.job, state)
            return self._told

    def _train(
        self, keys: Mapping[str, PartyKey], states: Mapping[str, UploadState], resumed: TreesState | None
    ) -> tuple[FinishedRowTreesRun, TreesState]:
        job, settings = self.inputs.job, self.inputs.job.settings
        done = 0 if resumed is None else resumed.iterations_done
        self.progress.begin(phase_of(job), settings.training.max_iter - done)
        contexts = self._contexts(keys, states, resumed)
        roles = {name: RowTreesRole(context) for name, context in contexts.items()}
        key_seconds = contexts[settings.leader].session.stopwatch.seconds["keys"]
        try:
            played = play_rows_roles(
                roles, job, settings, lambda: self._told, partial(note_dropout, self.events, self.progress)
            )
        except PartyStoppedError as error:
            if says_models_differ(error):
                left = set_checkpoints_aside(self.directory.path, saved_iterations_of(job), error)
                raise error.with_saved(left) from error.__cause__
            raise error from name_timeout_key(error.__cause__, job.timeout_s)
        results = {name: role.result for name, role in roles.items()}
        seconds = key_seconds + played.seconds
        finished = FinishedRowTreesRun(
            job, results, seconds, dropouts_of(played.dropouts), None if resumed is None else done
        )
        return finished, played.state

    def _contexts(
        self, keys: Mapping[str, PartyKey], states: Mapping[str, UploadState], resumed: TreesState | None
    ) -> dict[str, RowTreesContext]:
        inputs, job, settings = self.inputs, self.inputs.job, self.inputs.job.settings
        sessions, key_pair = open_sessions(
            inputs, settings, keys, self.directory.run_id, PROTOCOL, self.directory.path / LEDGER_FOLDER, self.progress
        )
        evaluate = evaluation_of(inputs)
        return {
            name: RowTreesContext(
                job=job,
                settings=settings,
                role=name,
                session=sessions[name],
                table=inputs.tables.get(name),
                evaluate=evaluate,
                upload_state=states.get(name),
                key_pair=key_pair if name == settings.leader else None,
                observer=self,
                accept_members=partial(check_members_of, inputs.site, job, name),
                other_sums_accepted=inputs.accepts_other_sums(name),
                resume_from=resumed,
                budget=inputs.budget_of(name),
                dropout_round=self.dropouts.get(name),
            )
            for name in settings.everyone
        }
