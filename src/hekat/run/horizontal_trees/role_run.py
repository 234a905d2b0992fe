"""One role of trees across rows, played over a channel on a machine of its own, and what it leaves in a folder."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

from hekat.channel import Channel
from hekat.disk_errors import disk_errors_as_state_errors
from hekat.errors import StateError
from hekat.job.horizontal.drawn_members import check_members_of
from hekat.job.horizontal_trees.job_file import PROTOCOL
from hekat.protocol.horizontal_trees.state import TreesState
from hekat.protocol.horizontal_trees.training import IterationRecord
from hekat.run.horizontal.trained_model import MODEL_FILE
from hekat.run.horizontal.training_state_file import CHECKPOINT_FILE, DIFFERENT_FILE, DOUBTFUL_FILE, EARLIER_FILE
from hekat.run.horizontal_trees.checkpoints import save_checkpoint_in, saved_iterations_of, say_checkpoint
from hekat.run.horizontal_trees.evaluation import evaluation_of
from hekat.run.horizontal_trees.iterations import describe_iteration, phase_of, write_final, write_iteration
from hekat.run.horizontal_trees.load_inputs import RowTreesInputs
from hekat.run.horizontal_trees.role import RowTreesContext, RowTreesObserver, RowTreesRole, point_of
from hekat.run.horizontal_trees.state_file import load_trees
from hekat.run.horizontal_trees.trained_trees import save_trained_trees
from hekat.run.progress import Progress
from hekat.run.resume_point import ResumePoint, agree_on_point
from hekat.run.role_folder import Place, RoleFolder, alone_caveat, open_role_folder
from hekat.run.rows.different_models import finish_setting_aside
from hekat.run.rows.kept_rows import keep_rows
from hekat.run.rows.play_apart import play_apart
from hekat.run.rows.upload_states import keep_states_in, open_states, roles_without_own_folder
from hekat.summary.horizontal.aggregator_view import view_of_aggregator
from hekat.summary.horizontal_trees.finished_run import FinishedRowTreesRun
from hekat.summary.horizontal_trees.summary import summarise_row_trees


@dataclass(frozen=True)
class StoppedTrees:
    """The folder of a role's stopped run, and the states that it can go on from; none at a role without rows.

    `doubtful` is what was set aside where the role was told that models differed there.
    """

    folder: Path
    states: Mapping[ResumePoint, TreesState] = field(default_factory=dict, repr=False)
    doubtful: Mapping[ResumePoint, TreesState] = field(default_factory=dict, repr=False)

    @property
    def iterations_done(self) -> int:
        """The iterations behind the last state."""
        return max((point.number for point in self.states), default=0)


def load_stopped_trees(folder: Path, inputs: RowTreesInputs, role: str) -> StoppedTrees:
    """Read what the role left in the folder of its own run.

    Raises StateError where a party has no checkpoint there, or one that is damaged or of another job, or where the
    parties ended with different models.
    """
    job = inputs.job
    if role not in job.settings.parties:
        return StoppedTrees(folder)
    finish_setting_aside(folder, saved_iterations_of(job))
    with disk_errors_as_state_errors(f"{folder} cannot be read"):
        differs = (folder / DIFFERENT_FILE).is_file()
        there = [path for name in (CHECKPOINT_FILE, EARLIER_FILE) if (path := folder / name).is_file()]
        in_doubt = [path for path in [folder / DOUBTFUL_FILE] if path.is_file()]
    if differs or not there:
        raise StateError(
            f"the parties of the run in {folder} ended with different models"
            if differs
            else f"there is nothing to resume in {folder}",
            expected=f"the folder of this role's own run, with its {CHECKPOINT_FILE}",
            got=DIFFERENT_FILE if differs else "no checkpoint" if folder.is_dir() else "no such folder",
            cure="begin a new run; one that stopped in its first iteration has saved nothing",
        )

    def load(paths: list[Path]) -> dict[ResumePoint, TreesState]:
        return {point_of(state): state for state in (load_trees(path, job.digest) for path in paths)}

    return StoppedTrees(folder, load(there), load(in_doubt))


def _agree(stopped: StoppedTrees, inputs: RowTreesInputs, channel: Channel) -> tuple[ResumePoint, TreesState | None]:
    """(where all roles go on, a party's own state there). Raises StateError."""
    parties = inputs.job.settings.parties
    point = agree_on_point(channel, stopped.states.keys(), parties, stopped.doubtful.keys())
    return point, {**stopped.doubtful, **stopped.states}.get(point)


class FolderObserver(RowTreesObserver):
    """Keeps what one party saves, in the folder of its run, and tells of its iterations."""

    def __init__(self, inputs: RowTreesInputs, folder: RoleFolder, progress: Progress) -> None:
        self._inputs, self._folder, self._progress = inputs, folder, progress
        self._reached = (0, False)
        self.saved = ""

    def note_iteration(self, record: IterationRecord, state: TreesState) -> None:
        write_iteration(self._folder.events, self._inputs.job, record)
        self._progress.advance(phase_of(self._inputs.job), describe_iteration(record))

    def save(self, state: TreesState) -> str:
        reached = (state.iterations_done, state.measured)
        if reached > self._reached:
            keep_rows(self._folder.path, self._inputs.tables)
            save_checkpoint_in(self._folder.path, self._inputs.job, state)
            self._reached, self.saved = reached, say_checkpoint(state)
            if state.measured:
                write_final(self._folder.events, self._inputs.job, state)
        return self.saved


def run_row_trees_role(
    inputs: RowTreesInputs, place: Place, *, dropout_iteration: int | None = None, stopped: StoppedTrees | None = None
) -> dict[str, Any]:
    """Play the role that `inputs` were loaded for to its end; returns the summary of what it knows.

    `dropout_iteration` is the iteration in which the party leaves, to see what becomes of the run. `stopped` is the
    role's run to resume: all roles agree on the iteration before anything is written. Raises what the role raises, a
    time-out with the line of the job that sets it; StateError where the disk takes no files.
    """
    job, role = inputs.job, place.role
    point, state = (None, None) if stopped is None else _agree(stopped, inputs, place.channel)
    with open_role_folder(place, job.name, job.digest, PROTOCOL, job.settings.parties) as folder:
        if roles_without_own_folder(inputs):
            keep_states_in(folder.path, None if stopped is None else stopped.folder)
        done = 0 if point is None else point.number
        place.progress.begin(phase_of(job), job.settings.training.max_iter - done)
        observer = FolderObserver(inputs, folder, place.progress)
        if stopped is not None:
            folder.events.write("resumed", run=stopped.folder.name, iterations_done=done)
        if state is not None:
            # Else a party that is stopped before it saves an iteration would leave nothing, and others would.
            observer.save(state)
        facts = inputs.test_facts
        if facts is not None:
            folder.events.write("test data", is_trained_on=facts.is_trained_on)
        with open_states(inputs, job.settings, folder.path) as states:
            played = RowTreesRole(
                RowTreesContext(
                    job=job,
                    settings=job.settings,
                    role=role,
                    session=folder.session,
                    table=inputs.tables.get(role),
                    evaluate=evaluation_of(inputs),
                    upload_state=states.get(role),
                    key_pair=inputs.key_pair,
                    observer=observer,
                    budget=inputs.budget_of(role),
                    accept_members=lambda members: check_members_of(inputs.site, job, role, members),
                    dropout_round=dropout_iteration,
                    resume_from=state,
                    resume_point=point,
                    other_sums_accepted=inputs.accepts_other_sums(role),
                )
            )
            trained = play_apart(
                played,
                place.channel,
                folder,
                protocol=PROTOCOL,
                timeout_s=job.timeout_s,
                saved_rounds=saved_iterations_of(job),
                saved=lambda: observer.saved,
            )
        if trained is not None:
            save_trained_trees(folder.path / MODEL_FILE, job, trained, inputs.tables[role].feature_names)
        summary = _summarise(inputs, folder, played, role, None if point is None else done)
        folder.write_summary(summary)
        folder.events.write("finished", iterations=0 if trained is None else trained.iterations_done)
        return summary


def _summarise(
    inputs: RowTreesInputs, folder: RoleFolder, played: RowTreesRole, role: str, resumed_after: int | None
) -> dict[str, Any]:
    job, result = inputs.job, played.result
    run = FinishedRowTreesRun(job, {role: result}, result.seconds, (), resumed_after)
    view = None
    if role == job.settings.aggregator:
        assert folder.session.ledger_path is not None
        view = view_of_aggregator(folder.session.ledger_path, folder.session.key.public)
    summary = summarise_row_trees(
        run,
        folder.directory.run_id,
        test_table=inputs.test_facts,
        view=view,
        more_caveats=[alone_caveat(role)],
        played="alone",
    )
    return cast(dict[str, Any], summary)
