"""`hekat run`: everything checked, then the comparisons, then the run itself, then what it leaves behind."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import asdict, replace
from pathlib import Path

from hekat.data import Table
from hekat.engine.tenancy import declare_tenancy
from hekat.errors import ModelsDifferError, PartyLostError, PartyStoppedError, StateError
from hekat.job.horizontal.committee_policy import check_members
from hekat.job.horizontal.job_file import PROTOCOL
from hekat.job.horizontal.precision_sweep import with_bits
from hekat.job.load_any_job import check_may_run
from hekat.launch.horizontal.federation import Federation, Listener
from hekat.launch.horizontal.rehearsed_dropouts import check_dropouts
from hekat.launch.run_result import RunResult
from hekat.model import evaluate
from hekat.protocol.horizontal.settings import HorizontalSettings
from hekat.protocol.horizontal.training.loop import LocalRun, RoundRecord, TrainingState, train
from hekat.protocol.horizontal.training.own_state import OwnState
from hekat.protocol.sealed_roles import LEDGER_FOLDER
from hekat.protocol.secure_sum.aggregation import Alone
from hekat.protocol.secure_sum.exactness_check import ExactnessCheck
from hekat.protocol.secure_sum.masked.upload_state import UploadState
from hekat.protocol.stopwatch import Stopwatch
from hekat.run.horizontal.load_inputs import HorizontalInputs
from hekat.run.horizontal.own_states import OWN_STATE_FOLDER, load_own_states, save_own_state
from hekat.run.horizontal.trained_model import MODEL_FILE, save_trained_model
from hekat.run.horizontal.training_state_file import CHECKPOINT_FILE, DIFFERENT_FILE, Resumed, load_resumed, save_state
from hekat.run.horizontal.upload_states import (
    check_upload_states,
    keep_states_in,
    open_passing_states,
    open_states,
    roles_without_own_folder,
)
from hekat.run.progress import Progress, Silence
from hekat.run.run_events import logged_run
from hekat.run.session_keys import session_keys, write_public_keys
from hekat.run.timeout_hint import name_timeout_key
from hekat.scheme.paillier import KeyPair
from hekat.state import EventLog, RunDirectory, create_run_directory, replace_file
from hekat.state.disk_errors import disk_errors_as_state_errors
from hekat.summary.horizontal.aggregator_view import AggregatorView, view_of_aggregator
from hekat.summary.horizontal.summary import Finished, TrainedAlone, summarise
from hekat.summary.summary_format import SUMMARY_FILE


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


def _describe_progress(record: RoundRecord) -> str:
    """The losses of a round, for a line on the terminal."""
    found = record.validation
    shown = next((f", held out {found[name]:.4f}" for name in ("log_loss", "rmse") if name in found), "")
    return f"loss {record.loss:.4f}{shown}"


def _load_unfinished(folder: Path, inputs: HorizontalInputs) -> Resumed:
    path, settings = folder / CHECKPOINT_FILE, inputs.job.settings
    with disk_errors_as_state_errors(f"{path} cannot be read"):
        is_there, has_model, differs = (file.is_file() for file in (path, folder / MODEL_FILE, folder / DIFFERENT_FILE))
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
            cure="check the path; a run that stopped in its first round is begun anew, without --resume",
        )
    model = inputs.make_model(settings.leader).model
    resumed = load_resumed(path, inputs.job, inputs.tables[settings.leader].features.shape[1], model)
    state = resumed.state
    is_validated = not settings.validation.hold_out or state.validation.final is not None
    # Without its model the comparison of final models is left.
    if has_model and is_validated and (state.finished or state.rounds_done >= settings.training.round_count):
        raise StateError(
            f"the run in {folder} is finished",
            expected=f"fewer than {settings.training.round_count} rounds, and no early stop",
            got=f"{state.rounds_done} rounds" + (", then the stop rule ended it" if state.finished else ""),
            cure="begin a new run, with more rounds in the job file if you want more",
        )
    return resumed


def _set_aside(folder: Path) -> None:
    """Leave no checkpoint to go on from where parties ended with different models: this one is of one of them."""
    path = folder / CHECKPOINT_FILE
    with disk_errors_as_state_errors(f"{path} could not be set aside, and must not be resumed"):
        if path.exists():
            path.rename(folder / DIFFERENT_FILE)


def _load_own(folder: Path, inputs: HorizontalInputs, state: TrainingState) -> dict[str, OwnState]:
    """What each party alone goes on with."""
    model = inputs.make_model(inputs.job.settings.leader).model
    return load_own_states(folder / OWN_STATE_FOLDER, inputs.job, state, model)


class _Session:
    """One run's folder, events and phases."""

    def __init__(
        self,
        inputs: HorizontalInputs,
        directory: RunDirectory,
        events: EventLog,
        progress: Progress,
        dropouts: Mapping[str, int],
        releases: tuple[str, ...] = (),
    ) -> None:
        """`releases` of Hekat trained what is resumed."""
        self._inputs, self._directory, self._events, self._progress = inputs, directory, events, progress
        self._dropouts, self._releases = dropouts, releases
        self._job = inputs.job
        self._made = inputs.make_model(self._job.settings.leader)

    @property
    def _leader_table(self) -> Table:
        return self._inputs.tables[self._job.settings.leader]

    def run(self, resumed: TrainingState | None, resumed_folder: Path | None, own: Mapping[str, OwnState]) -> RunResult:
        settings, folder = self._job.settings, self._directory.path
        if roles_without_own_folder(self._inputs):
            keep_states_in(folder, resumed_folder)
        alone = self._train_alone() if self._job.compare_alone else {}
        plain = None
        if self._job.compare_plain and settings.protection != "none":
            plain = self._federate(replace(settings, protection="none", authority=None, check_sum=False), "plain")
        compared = self._sweep_precision()
        with disk_errors_as_state_errors(f"{folder / LEDGER_FOLDER} could not be made"):
            (folder / LEDGER_FOLDER).mkdir()
        for party, kept in own.items():
            self._save_own(party, kept)
        name = "encrypted" if settings.protection != "none" else "plain"
        main = self._federate(settings, name, resumed=resumed, own=own)
        save_trained_model(folder, self._job, main.state, self._leader_table.feature_names, self._made)
        view = self._view_aggregator(main)
        main.releases = self._releases
        summary = summarise(self._inputs, self._directory.run_id, alone, plain, main, view, compared)
        replace_file(folder / SUMMARY_FILE, json.dumps(summary, indent=1, allow_nan=False).encode(), mode=0o644)
        self._events.write("finished", rounds=main.state.rounds_done)
        return RunResult(folder, summary)

    def _train_alone(self) -> dict[str, TrainedAlone]:
        found: dict[str, TrainedAlone] = {}
        self._progress.begin("alone", len(self._inputs.tables))
        for party, table in self._inputs.tables.items():
            made = self._inputs.make_model(party)
            local = LocalRun(Stopwatch(), lambda record, state: None, lambda state: None, model=made.model)
            state = train(Alone(), table, self._job.settings, local, party=party)
            found[party] = TrainedAlone(self._evaluate(state), state.validation.final or {})
            self._events.write("alone", party=party, **asdict(found[party]))
            self._progress.advance("alone", party)
        return found

    def _sweep_precision(self) -> list[Finished]:
        """The job at other bits per value; one Paillier key serves them all, and the run itself makes its own."""
        found: list[Finished] = []
        for bits in self._job.compare_bits:
            key_pair = found[0].federation.key_pair if found else None
            settings = with_bits(self._job.settings, bits)
            found.append(self._federate(settings, f"{bits} bits", key_pair=key_pair))
        return found

    def _federate(
        self,
        settings: HorizontalSettings,
        phase: str,
        *,
        resumed: TrainingState | None = None,
        own: Mapping[str, OwnState] | None = None,
        key_pair: KeyPair | None = None,
    ) -> Finished:
        is_main = settings is self._job.settings
        keys = session_keys(self._inputs.party_keys, settings.everyone)
        if is_main:
            write_public_keys(self._directory.path, keys)
        records: list[RoundRecord] = []
        metrics: list[dict[str, float]] = []
        self._progress.begin(phase, settings.training.round_count)

        def on_round(record: RoundRecord, state: TrainingState) -> None:
            records.append(record)
            found = self._evaluate(state)
            if found:
                metrics.append(found)
            self._events.write(
                "round",
                phase=phase,
                round=record.round,
                loss=record.loss,
                clipped=record.clipped_count,
                bounds=record.bounds,
                metrics=found,
                validation=record.validation,
            )
            self._progress.advance(phase, _describe_progress(record))

        federation = Federation(
            job=self._job,
            settings=settings,
            tables=self._inputs.tables,
            party_keys=keys,
            run_id=self._directory.run_id,
            ledger_folder=self._directory.path / LEDGER_FOLDER if is_main else None,
            listener=Listener(
                on_round,
                self._progress.search_key,
                self._note_dropout,
                self._saver() if is_main else lambda state: None,
                self._save_own if is_main else lambda party, kept: None,
            ),
            key_pair=key_pair or self._inputs.key_pair,
            exactness_check=ExactnessCheck()
            if self._job.check_exactness and is_main and settings.protection != "none"
            else None,
            resume_from=resumed,
            resume_own=own or {},
            rehearsed_dropouts=self._dropouts if is_main else {},
            make_model=self._inputs.make_model,
            accept_members=self._check_members if is_main else lambda members: None,
        )
        with self._open_states(settings) as states:
            federation.upload_states = states
            try:
                state = federation.run()
            except PartyStoppedError as error:
                if is_main and isinstance(error.__cause__, ModelsDifferError):
                    _set_aside(self._directory.path)
                raise error from name_timeout_key(error.__cause__, self._job.timeout_s)
        if state.validation.final is not None:
            self._events.write("validation", phase=phase, rounds=state.rounds_done, metrics=state.validation.final)
        return Finished(federation, state, records, metrics, metrics[-1] if metrics else self._evaluate(state))

    def _check_members(self, members: tuple[str, ...]) -> None:
        check_members(self._inputs.site.policy, self._job, members)

    def _open_states(self, settings: HorizontalSettings) -> AbstractContextManager[dict[str, UploadState]]:
        if settings is self._job.settings:
            return open_states(self._inputs, settings, self._directory.path)
        return open_passing_states(self._inputs, settings)

    def _note_dropout(self, error: PartyLostError) -> None:
        self._events.write("lost", party=error.party, step=error.step, reason=error.reason)
        self._progress.note_dropout(error.party, error.step, error.reason)

    def _saver(self) -> Callable[[TrainingState], None]:
        path = self._directory.path / CHECKPOINT_FILE
        return lambda state: save_state(path, self._job, state, self._releases)

    def _save_own(self, party: str, kept: OwnState) -> None:
        save_own_state(self._directory.path / OWN_STATE_FOLDER, self._job, party, kept)

    def _evaluate(self, state: TrainingState) -> dict[str, float]:
        test = self._inputs.test_table
        if test is None or test.labels is None:
            return {}
        return evaluate(self._made.model, state.parameters, state.standardiser.apply(test.features), test.labels)

    def _view_aggregator(self, main: Finished) -> AggregatorView:
        name = self._job.settings.aggregator
        path = self._directory.path / LEDGER_FOLDER / f"{name}.jsonl"
        return view_of_aggregator(path, main.federation.party_keys[name].public)
