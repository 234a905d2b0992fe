"""`hekat run`: everything checked, then the comparisons, then the run itself, then what it leaves behind."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from hekat.channel import PartyKey
from hekat.disk_errors import disk_errors_as_state_errors
from hekat.engine.tenancy import declare_tenancy
from hekat.errors import PartyStoppedError, StateError
from hekat.job.horizontal.job_file import PROTOCOL
from hekat.job.load_any_job import check_may_run, roles_of
from hekat.launch.horizontal.comparisons import Comparer
from hekat.launch.horizontal.in_process import SharedObserver
from hekat.launch.horizontal.phase import Phase
from hekat.launch.local.role_folders import RoleFolders
from hekat.launch.rows.note_dropout import note_dropout
from hekat.launch.rows.rehearsed_dropouts import check_dropouts
from hekat.launch.rows.role_folders import recover_role_folders
from hekat.launch.run_result import RunResult
from hekat.ledger.ledger_files import pack_ledgers
from hekat.protocol.horizontal.training.own_state import OwnState
from hekat.protocol.horizontal.training.training_state import TrainingState
from hekat.protocol.role_session import LEDGER_FOLDER
from hekat.protocol.secure_sum.exactness_check import ExactnessCheck
from hekat.run.horizontal.found_categories import settle_as_before, with_settled_table
from hekat.run.horizontal.load_inputs import HorizontalInputs
from hekat.run.horizontal.own_states import OWN_STATE_FOLDER, load_own_states, save_own_state
from hekat.run.horizontal.resume import load_common
from hekat.run.horizontal.role import RoleContext
from hekat.run.horizontal.saved_rounds import saved_rounds_of
from hekat.run.horizontal.trained_model import MODEL_FILE, save_trained_model
from hekat.run.horizontal.training_state_file import (
    CHECKPOINT_FILE,
    DIFFERENT_FILE,
    Resumed,
    keep_earlier,
    save_state,
)
from hekat.run.progress import Progress, Silence
from hekat.run.rows.different_models import finish_setting_aside, says_models_differ, set_checkpoints_aside
from hekat.run.rows.kept_rows import check_rows_kept, keep_rows
from hekat.run.rows.upload_states import (
    check_upload_states,
    keep_states_in,
    open_states,
    roles_without_own_folder,
)
from hekat.run.run_events import logged_run
from hekat.run.session_keys import session_keys, write_public_keys
from hekat.state import EventLog, RunDirectory, create_run_directory, cure_of_parent
from hekat.summary.horizontal.aggregator_view import view_of_aggregator
from hekat.summary.horizontal.finished_run import FinishedRun
from hekat.summary.horizontal.summary import summarise
from hekat.summary.summary_format import SUMMARY_FILE, write_summary

ROLES_TOOK_TURNS = "roles took turns at the measured steps, so each figure is of a machine to itself"


def run_job(
    inputs: HorizontalInputs,
    root: Path,
    progress: Progress | None = None,
    *,
    resume_from: Path | None = None,
    dropouts: Mapping[str, int] | None = None,
) -> RunResult:
    """Run a loaded job on this machine; everything it writes lies in a new folder under `root`.

    `progress` is told how far the run is; without it the run is silent.
    `resume_from` is the folder of an earlier run of the same job: training goes on from its checkpoint in a new
    session and a new folder; where only the comparison of final models is left, that is made. `dropouts` names parties
    that stop in the middle of a round, to see the others go on.
    Raises PartyStoppedError where a party failed, with what was saved; StateError where the disk takes no files. Before
    anything is written: StateError where there is nothing to resume or upload numbers are lost; PolicyError for
    drop-outs that cannot be, or for a job with party keys that not all parties here approved; EngineError where another
    run in this process says the opposite of the machine's tenancy.
    """
    with declare_tenancy(inputs.site.machine.single_tenant):
        return _run(inputs, root, progress or Silence(), resume_from, dropouts or {})


def _run(
    inputs: HorizontalInputs, root: Path, progress: Progress, resume_from: Path | None, dropouts: Mapping[str, int]
) -> RunResult:
    if resume_from is not None:
        recover_role_folders(RoleFolders(resume_from, roles_of(inputs.job)), saved_rounds_of(inputs.job))
        inputs = settle_as_before(resume_from, inputs)
        check_rows_kept(resume_from, inputs.tables)
    resumed = None if resume_from is None else _load_unfinished(resume_from, inputs)
    state = None if resumed is None else resumed.state
    own = {} if state is None or resume_from is None else _load_own(resume_from, inputs, state)
    check_dropouts(inputs.job.settings, dropouts, 0 if state is None else state.rounds_done)
    check_may_run(inputs.site, inputs.job)
    check_upload_states(inputs, resume_from, root, 0 if state is None else state.rounds_done)
    directory = create_run_directory(root)
    with logged_run(directory, inputs.job.name, inputs.job.settings.parties, PROTOCOL) as events:
        progress.open_folder(directory.path)
        session = _Session(inputs, directory, events, progress, dropouts, () if resumed is None else resumed.releases)
        if resumed is not None:
            events.write(
                "resumed",
                run=str(resume_from),
                rounds_done=resumed.state.rounds_done,
                begun_by=resumed.releases[0],
                releases=resumed.releases,
            )
        return session.run(state, resume_from, own)


def _load_unfinished(folder: Path, inputs: HorizontalInputs) -> Resumed:
    path, settings = folder / CHECKPOINT_FILE, inputs.job.settings
    finish_setting_aside(folder, saved_rounds_of(inputs.job))
    with disk_errors_as_state_errors(f"{path} cannot be read"):
        is_there, differs = path.is_file(), (folder / DIFFERENT_FILE).is_file()
        # A disk that filled up in between leaves a model without the summary.
        is_finished = all((folder / name).is_file() for name in (MODEL_FILE, SUMMARY_FILE))
    if differs:
        # All parties here would go on from one checkpoint, so that a second comparison could find nothing.
        raise StateError(
            f"the parties of the run in {folder} ended with different models",
            expected="a run that stopped before its parties found that out",
            got=DIFFERENT_FILE,
            cure="compare the parties' ledgers, which hold the digests of every sum that came; then begin a new run",
        )
    if not is_there:
        raise StateError(
            f"there is nothing to resume in {folder}",
            expected=f"the folder of an earlier run, with its {CHECKPOINT_FILE}",
            got=f"a folder without {CHECKPOINT_FILE}" if folder.is_dir() else "no such folder",
            cure=cure_of_parent(
                folder, "check the path; a run that stopped in its first round is begun anew, without --resume"
            ),
        )
    model = inputs.make_model(settings.leader).model
    resumed = load_common(folder, inputs.job, inputs.tables[settings.leader].features.shape[1], model)
    state = resumed.state
    validation = settings.validation
    is_held_out = not validation.hold_out or state.validation.final is not None
    is_validated = is_held_out and len(state.folds) == validation.folds
    # Otherwise the comparison of final models is left, or what follows it.
    if is_finished and is_validated and (state.finished or state.rounds_done >= settings.training.round_count):
        raise StateError(
            f"the run in {folder} is finished",
            expected=f"fewer than {settings.training.round_count} rounds, and no early stop",
            got=f"{state.rounds_done} rounds" + (", then the stop rule ended it" if state.finished else ""),
            cure="begin a new run, with more rounds in the job file if you want more",
        )
    return resumed


def _load_own(folder: Path, inputs: HorizontalInputs, state: TrainingState) -> dict[str, OwnState]:
    """What each party alone goes on with."""
    model = inputs.make_model(inputs.job.settings.leader).model
    return load_own_states(folder / OWN_STATE_FOLDER, inputs.job, state, model)


@dataclass
class _Session:
    """One run's folder, events and phases; `releases` of Hekat trained what is resumed."""

    inputs: HorizontalInputs
    directory: RunDirectory
    events: EventLog
    progress: Progress
    dropouts: Mapping[str, int]
    releases: tuple[str, ...] = ()

    def run(self, resumed: TrainingState | None, resumed_folder: Path | None, own: Mapping[str, OwnState]) -> RunResult:
        inputs, job, folder, run_id = self.inputs, self.inputs.job, self.directory.path, self.directory.run_id
        leader = job.settings.leader
        made = inputs.make_model(leader)
        keys = session_keys(inputs.party_keys, job.settings.everyone)
        if roles_without_own_folder(inputs):
            keep_states_in(folder, resumed_folder)
        comparisons = Comparer(inputs, run_id, keys, self.events, self.progress).compare()
        with disk_errors_as_state_errors(f"{folder / LEDGER_FOLDER} could not be made"):
            (folder / LEDGER_FOLDER).mkdir()
        for party, kept in own.items():
            self._save_own(party, kept)
        write_public_keys(folder, keys)
        main, state = self._train(keys, resumed, own)
        save_trained_model(folder, job, state, inputs.tables[leader].feature_names, made)
        aggregator = job.settings.aggregator
        summary = summarise(
            job,
            run_id,
            main,
            test_table=inputs.test_facts,
            alone=comparisons.alone,
            plain=comparisons.plain,
            compared=comparisons.bits,
            view=view_of_aggregator(folder / LEDGER_FOLDER / f"{aggregator}.jsonl", keys[aggregator].public),
            more_caveats=[ROLES_TOOK_TURNS],
        )
        write_summary(folder, summary)
        pack_ledgers(folder / LEDGER_FOLDER)
        self.events.write("finished", rounds=main.trained.rounds_done)
        return RunResult(folder, summary)

    def _train(
        self, keys: Mapping[str, PartyKey], resumed: TrainingState | None, own: Mapping[str, OwnState]
    ) -> tuple[FinishedRun, TrainingState]:
        """The run itself, with its ledgers, checkpoints and states."""
        job, settings, folder = self.inputs.job, self.inputs.job.settings, self.directory.path
        is_checked = job.check_exactness and settings.protection != "none"
        check = ExactnessCheck() if is_checked else None

        def adapt(context: RoleContext) -> RoleContext:
            return replace(
                context if resumed is None else with_settled_table(self.inputs, context),
                resume_from=resumed,
                own_state=own.get(context.role),
                dropout_round=self.dropouts.get(context.role),
                exactness_check=check,
            )

        observer = SharedObserver(on_save=self._save, on_save_own=self._save_own)
        if resumed is not None:
            # So that this folder is whole from the first round on, as the one before it was.
            observer.save(resumed)
        with open_states(self.inputs, settings, folder) as states:
            phase = Phase(
                self.inputs,
                settings,
                "encrypted" if settings.protection != "none" else "plain",
                self.directory.run_id,
                keys,
                self.events,
                self.progress,
                states,
                folder / LEDGER_FOLDER,
                observer=observer,
                adapt=adapt,
                releases=self.releases,
            )
            try:
                return phase.play(lambda error: note_dropout(self.events, self.progress, error))
            except PartyStoppedError as error:
                if not says_models_differ(error):
                    raise
                raise error.with_saved(set_checkpoints_aside(folder, saved_rounds_of(job), error)) from error.__cause__

    def _save(self, state: TrainingState) -> None:
        path = self.directory.path / CHECKPOINT_FILE
        keep_rows(self.directory.path, self.inputs.tables)
        keep_earlier(path)
        save_state(path, self.inputs.job, state, self.releases)

    def _save_own(self, party: str, kept: OwnState) -> None:
        save_own_state(self.directory.path / OWN_STATE_FOLDER, self.inputs.job, party, kept)
