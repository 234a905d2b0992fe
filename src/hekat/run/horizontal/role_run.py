"""One role of a horizontal job, played over a channel on a machine of its own, and what it leaves in a folder."""

from __future__ import annotations

from hekat.data.columns.found import Vocabulary
from hekat.job.horizontal.drawn_members import check_members_of
from hekat.job.horizontal.job_file import PROTOCOL, Job
from hekat.protocol.horizontal.training.own_state import OwnState
from hekat.protocol.horizontal.training.training_state import RoundRecord, TrainingState
from hekat.run.horizontal.evaluation import evaluation_of
from hekat.run.horizontal.found_categories import SettledInputs, opening_table
from hekat.run.horizontal.load_inputs import HorizontalInputs
from hekat.run.horizontal.own_states import OWN_STATE_FOLDER, save_own_state
from hekat.run.horizontal.resume import Stopped, resume_role
from hekat.run.horizontal.role import HorizontalRole, RoleContext, RoleObserver
from hekat.run.horizontal.rounds import describe_round, say_checkpoint, tell_fold, write_round
from hekat.run.horizontal.saved_rounds import saved_rounds_of
from hekat.run.horizontal.trained_model import save_trained_model
from hekat.run.horizontal.training_state_file import (
    CHECKPOINT_FILE,
    keep_earlier,
    save_state,
)
from hekat.run.progress import Progress
from hekat.run.role_folder import Place, RoleFolder, alone_caveat, open_role_folder
from hekat.run.rows.kept_rows import keep_rows
from hekat.run.rows.play_apart import play_apart
from hekat.run.rows.upload_states import keep_states_in, open_states, roles_without_own_folder
from hekat.summary.horizontal.aggregator_view import view_of_aggregator
from hekat.summary.horizontal.finished_run import FinishedRun
from hekat.summary.horizontal.summary import summarise

EXACTNESS_NEEDS_ONE_PROCESS = (
    "sums were not compared with sums of floats, as checks.exactness of the job asks for: that takes one process that "
    "plays all roles"
)


class FolderObserver(RoleObserver):
    """Keeps what one party saves, in the folder of its run, and tells of its rounds."""

    def __init__(
        self, inputs: SettledInputs, folder: RoleFolder, progress: Progress, releases: tuple[str, ...] = ()
    ) -> None:
        self._inputs, self._folder, self._progress, self._releases = inputs, folder, progress, releases
        self._job = inputs.inputs.job
        self._sums_saved = 0
        self.saved = ""

    def note_round(self, record: RoundRecord, state: TrainingState, metrics: dict[str, float]) -> None:
        phase = phase_of(self._job)
        write_round(self._folder.events, phase, record, metrics)
        self._progress.advance(phase, describe_round(record))

    def note_test_data(self) -> None:
        """Say in the events whether the common test data are rows that this role trains on, if it has such data."""
        facts = self._inputs.inputs.test_facts
        if facts is not None:
            self._folder.events.write("test data", is_trained_on=facts.is_trained_on)

    def note_fold(self, done: int, metrics: dict[str, float]) -> None:
        tell_fold(self._folder.events, self._progress, self._job.settings, done, metrics)

    def save(self, state: TrainingState) -> str:
        if state.sums_done > self._sums_saved:
            keep_rows(self._folder.path, self._inputs.inputs.tables)
            keep_earlier(self._folder.path / CHECKPOINT_FILE)
            save_state(self._folder.path / CHECKPOINT_FILE, self._job, state, self._releases)
            self._sums_saved = state.sums_done
            self.saved = say_checkpoint(state)
        return self.saved

    def save_own(self, role: str, own: OwnState) -> None:
        save_own_state(self._folder.path / OWN_STATE_FOLDER, self._job, role, own)


def run_horizontal_role(
    inputs: HorizontalInputs, place: Place, *, dropout_round: int | None = None, stopped: Stopped | None = None
) -> dict[str, object]:
    """Play the role that `inputs` were loaded for to its end; returns the summary of what it knows.

    `dropout_round` is the round in which the party leaves, to see the others go on. `stopped` is the role's run to
    resume: all roles agree on the round before anything is written. Raises what the role raises, a time-out with the
    line of the job that sets it; StateError where the disk takes no files.
    """
    job, role = inputs.job, place.role
    resumed = None if stopped is None else resume_role(stopped, inputs, place.channel)
    with open_role_folder(place, job.name, job.digest, PROTOCOL, job.settings.parties) as folder:
        if roles_without_own_folder(inputs):
            keep_states_in(folder.path, None if resumed is None else resumed.folder)
        place.progress.begin(phase_of(job), job.settings.training.round_count)
        settled = SettledInputs(inputs)
        observer = FolderObserver(settled, folder, place.progress, () if resumed is None else resumed.releases)
        if resumed is not None:
            folder.events.write("resumed", run=resumed.folder.name, rounds_done=resumed.point.number)
            if resumed.own is not None:
                observer.save_own(role, resumed.own)
            if resumed.state is not None:
                # Else a party that is stopped before it saves a round would leave nothing, and others would.
                observer.save(resumed.state)
        finds = role in inputs.open_tables and resumed is None
        if not finds:
            observer.note_test_data()

        def settle(context: RoleContext, vocabulary: Vocabulary) -> RoleContext:
            found = settled.settle(context, vocabulary)
            observer.note_test_data()
            return found

        with open_states(inputs, job.settings, folder.path) as states:
            played = HorizontalRole(
                RoleContext(
                    job=job,
                    settings=job.settings,
                    role=role,
                    session=folder.session,
                    table=opening_table(inputs, role) if finds else inputs.tables.get(role),
                    evaluate=evaluation_of(inputs),
                    make_model=inputs.maker_of(role),
                    upload_state=states.get(role),
                    key_pair=inputs.key_pair,
                    observer=observer,
                    accept_members=lambda members: check_members_of(inputs.site, job, role, members),
                    dropout_round=dropout_round,
                    resume_from=None if resumed is None else resumed.state,
                    resume_point=None if resumed is None else resumed.point,
                    own_state=None if resumed is None else resumed.own,
                    other_sums_accepted=inputs.accepts_other_sums(role),
                    budget=inputs.budget_of(role),
                    model_caveats=inputs.model_caveats,
                    settle=settle if finds else None,
                )
            )
            state = play_apart(
                played,
                place.channel,
                folder,
                protocol=PROTOCOL,
                timeout_s=job.timeout_s,
                saved_rounds=saved_rounds_of(job),
                saved=lambda: observer.saved,
            )
        inputs = settled.inputs
        if state is not None:
            names = inputs.tables[role].feature_names
            save_trained_model(folder.path, inputs.job, state, names, inputs.make_model(role))
        summary = _summarise(inputs, folder, played, role)
        folder.write_summary(summary)
        folder.events.write("finished", rounds=0 if state is None else state.rounds_done)
        return summary


def _summarise(inputs: HorizontalInputs, folder: RoleFolder, played: HorizontalRole, role: str) -> dict[str, object]:
    job, result = inputs.job, played.result
    run = FinishedRun(job.settings, {role: result}, result.seconds)
    caveats = [alone_caveat(role), *([EXACTNESS_NEEDS_ONE_PROCESS] if job.check_exactness else [])]
    view = None
    if role == job.settings.aggregator:
        assert folder.session.ledger_path is not None
        view = view_of_aggregator(folder.session.ledger_path, folder.session.key.public)
    return summarise(
        job, folder.directory.run_id, run, test_table=inputs.test_facts, view=view, more_caveats=caveats, played="alone"
    )


def phase_of(job: Job) -> str:
    """The name of a run of the job, as events and terminals have it."""
    return "plain" if job.settings.protection == "none" else "encrypted"
