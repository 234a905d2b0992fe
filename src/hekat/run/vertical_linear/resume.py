"""What one role of a stopped vertical run goes on with, from the folder of its own run."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path

from hekat.channel import Channel
from hekat.errors import StateError
from hekat.job.vertical_linear.job_file import VerticalJob
from hekat.protocol.vertical_linear.mixing import MIXING
from hekat.run.resume_point import ResumePoint, agree_on_point
from hekat.run.vertical_linear.checkpoint_files import (
    CHECKPOINTS_FOLDER,
    PartyCheckpoint,
    epochs_of,
    load_own_checkpoint,
)
from hekat.run.vertical_linear.load_inputs import VerticalInputs


@dataclass(frozen=True)
class StoppedPart:
    """The folder of a role's stopped run, and the epochs that it has saved; none at an arbiter."""

    folder: Path
    epochs: tuple[int, ...] = ()


@dataclass(frozen=True)
class ResumedPlay:
    """Where all roles go on, and a party's own checkpoint of it."""

    folder: Path
    point: ResumePoint
    kept: PartyCheckpoint | None = field(default=None, repr=False)


def load_stopped_part(folder: Path, job: VerticalJob, role: str) -> StoppedPart:
    """Read what the role left in the folder of its own run.

    Raises StateError where a party has no checkpoint there, or one that is damaged or of another job.
    """
    if role not in job.settings.parties:
        return StoppedPart(folder)
    epochs = tuple(epochs_of(folder / CHECKPOINTS_FOLDER, role))
    if not epochs:
        raise StateError(
            f"there is nothing to resume in {folder}",
            expected=f"the folder of this role's own run, with its {CHECKPOINTS_FOLDER}/",
            got="no checkpoint" if folder.is_dir() else "no such folder",
            cure="begin a new run; one that stopped in its first epoch has saved nothing",
        )
    for epoch in epochs:
        load_own_checkpoint(folder / CHECKPOINTS_FOLDER, job, role, epoch)
    return StoppedPart(folder, epochs)


def resume_part(stopped: StoppedPart, inputs: VerticalInputs, channel: Channel) -> ResumedPlay:
    """Agree with the other roles on the epoch, and take this role's own part. Raises StateError."""
    job, role = inputs.job, channel.party
    point = agree_on_point(channel, [ResumePoint(epoch) for epoch in stopped.epochs], job.settings.parties)
    if role not in job.settings.parties:
        return ResumedPlay(stopped.folder, point)
    kept = load_own_checkpoint(stopped.folder / CHECKPOINTS_FOLDER, job, role, point.number)
    return ResumedPlay(stopped.folder, point, kept)


def with_limit(inputs: VerticalInputs, resumed: ResumedPlay) -> VerticalInputs:
    """The job with the limit on values that the resumed run had, if the job leaves it to the release."""
    if resumed.kept is None:
        return inputs
    return as_begun(inputs, resumed.kept)


def as_begun(inputs: VerticalInputs, kept: PartyCheckpoint) -> VerticalInputs:
    """The job as the release that began the run understood it: its limit on values, and whether columns are mixed."""
    job, settings = inputs.job, inputs.job.settings
    training = settings.training
    if training.mixes_columns and MIXING not in kept.state.arrays:
        training = training.without_mixing()
    training = replace(training, limit_spreads=kept.limit_spreads)
    return replace(inputs, job=replace(job, settings=replace(settings, training=training)))
