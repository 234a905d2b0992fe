"""What one role of a stopped run goes on with, from the folder of its own run."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from hekat.channel import Channel
from hekat.disk_errors import disk_errors_as_state_errors
from hekat.errors import StateError
from hekat.job.horizontal.job_file import Job
from hekat.model import Model
from hekat.protocol.horizontal.training.own_state import OwnState
from hekat.protocol.horizontal.training.training_state import TrainingState
from hekat.run.horizontal.load_inputs import HorizontalInputs
from hekat.run.horizontal.own_states import OWN_STATE_FOLDER, has_own_states, load_own_states
from hekat.run.horizontal.saved_rounds import saved_rounds_of
from hekat.run.horizontal.training_state_file import (
    CHECKPOINT_FILE,
    DIFFERENT_FILE,
    DOUBTFUL_FILE,
    EARLIER_FILE,
    Resumed,
    load_resumed,
)
from hekat.run.resume_point import ResumePoint, agree_on_point
from hekat.run.rows.different_models import finish_setting_aside


@dataclass(frozen=True)
class Stopped:
    """The folder of a role's stopped run, and the states that it can go on from; none at a role without rows."""

    folder: Path
    states: Mapping[ResumePoint, Resumed] = field(default_factory=dict, repr=False)
    doubtful: Mapping[ResumePoint, Resumed] = field(default_factory=dict, repr=False)
    """What was set aside where the role was told that models differed there."""

    @property
    def rounds_done(self) -> int:
        """The rounds behind the last state."""
        return max((point.number for point in self.states), default=0)


@dataclass(frozen=True)
class ResumedRole:
    """Where all roles go on. `state` and `own` are a party's; `releases` of Hekat trained it so far."""

    folder: Path
    point: ResumePoint
    state: TrainingState | None = None
    own: OwnState | None = None
    releases: tuple[str, ...] = ()


def load_common(folder: Path, job: Job, column_count: int, model: Model) -> Resumed:
    """The last state, in the folder of all parties, to which each of them has its own part.

    Where the checkpoint before does not help either, the last one's: loading own parts then names what is missing.
    Raises StateError as `load_resumed`.
    """
    last = load_resumed(folder / CHECKPOINT_FILE, job, column_count, model)
    earlier = folder / EARLIER_FILE
    if has_own_states(folder / OWN_STATE_FOLDER, job, last.state) or not earlier.is_file():
        return last
    before = load_resumed(earlier, job, column_count, model)
    return before if has_own_states(folder / OWN_STATE_FOLDER, job, before.state) else last


def load_stopped(folder: Path, inputs: HorizontalInputs, role: str) -> Stopped:
    """Read what the role left in the folder of its own run.

    Raises StateError where a party has no checkpoint there, or one that is damaged, of another job or model, or where
    the parties ended with different models.
    """
    if role not in inputs.job.settings.parties:
        return Stopped(folder)
    finish_setting_aside(folder, saved_rounds_of(inputs.job))
    paths, doubtful = [folder / CHECKPOINT_FILE, folder / EARLIER_FILE], folder / DOUBTFUL_FILE
    with disk_errors_as_state_errors(f"{folder} cannot be read"):
        differs, there = (folder / DIFFERENT_FILE).is_file(), [path for path in paths if path.is_file()]
        is_in_doubt = doubtful.is_file()
    if differs or not there:
        raise StateError(
            f"the parties of the run in {folder} ended with different models"
            if differs
            else f"there is nothing to resume in {folder}",
            expected=f"the folder of this role's own run, with its {CHECKPOINT_FILE}",
            got=DIFFERENT_FILE if differs else "no checkpoint" if folder.is_dir() else "no such folder",
            cure="begin a new run; one that stopped in its first round has saved nothing",
        )
    model = inputs.make_model(role).model

    def load(paths: Iterable[Path]) -> dict[ResumePoint, Resumed]:
        found = [load_resumed(path, inputs.job, inputs.column_count, model) for path in paths]
        return {_point_of(one.state): one for one in found}

    return Stopped(folder, load(there), load([doubtful] if is_in_doubt else []))


def resume_role(stopped: Stopped, inputs: HorizontalInputs, channel: Channel) -> ResumedRole:
    """Agree with the other roles on the point, and take this role's own part. Raises StateError."""
    role = channel.party
    point = agree_on_point(channel, stopped.states.keys(), inputs.job.settings.parties, stopped.doubtful.keys())
    if role not in inputs.job.settings.parties:
        return ResumedRole(stopped.folder, point)
    resumed = {**stopped.doubtful, **stopped.states}[point]
    own = load_own_states(
        stopped.folder / OWN_STATE_FOLDER, inputs.job, resumed.state, inputs.make_model(role).model, only=role
    )
    return ResumedRole(stopped.folder, point, resumed.state, own.get(role), resumed.releases)


def _point_of(state: TrainingState) -> ResumePoint:
    return ResumePoint(state.rounds_done, state.finished, state.validation.final is not None, len(state.folds))
