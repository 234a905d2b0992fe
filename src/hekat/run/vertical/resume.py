"""What one role of a stopped run on columns goes on with, from the folder of its own run."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hekat.channel import Channel
from hekat.errors import StateError
from hekat.job.vertical.columns_job import ColumnsJob
from hekat.run.resume_point import ResumePoint, agree_on_point
from hekat.run.vertical.checkpoint_files import CHECKPOINTS_FOLDER, CheckpointForm, PartyCheckpoint


@dataclass(frozen=True)
class StoppedPart:
    """The folder of a role's stopped run, and the numbers of the steps that it has saved; none without rows."""

    folder: Path
    numbers: tuple[int, ...] = ()


@dataclass(frozen=True)
class ResumedPlay:
    """Where all roles go on, and a party's own checkpoint of it."""

    folder: Path
    point: ResumePoint
    kept: PartyCheckpoint[Any] | None = field(default=None, repr=False)


def load_stopped_part(form: CheckpointForm[Any], folder: Path, job: ColumnsJob, role: str) -> StoppedPart:
    """Read what the role left in the folder of its own run.

    Raises StateError where a party has no checkpoint there, or one that is damaged or of another job.
    """
    if role not in job.settings.parties:
        return StoppedPart(folder)
    numbers = tuple(form.numbers_of(folder / CHECKPOINTS_FOLDER, role))
    if not numbers:
        raise StateError(
            f"there is nothing to resume in {folder}",
            expected=f"the folder of this role's own run, with its {CHECKPOINTS_FOLDER}/",
            got="no checkpoint" if folder.is_dir() else "no such folder",
            cure=f"begin a new run; one that stopped in its first {form.word} has saved nothing",
        )
    for number in numbers:
        form.load(folder / CHECKPOINTS_FOLDER, job, role, number)
    return StoppedPart(folder, numbers)


def resume_part(form: CheckpointForm[Any], stopped: StoppedPart, job: ColumnsJob, channel: Channel) -> ResumedPlay:
    """Agree with the other roles on the step, and take this role's own part. Raises StateError."""
    role = channel.party
    point = agree_on_point(channel, [ResumePoint(number) for number in stopped.numbers], job.settings.parties)
    if role not in job.settings.parties:
        return ResumedPlay(stopped.folder, point)
    return ResumedPlay(stopped.folder, point, form.load(stopped.folder / CHECKPOINTS_FOLDER, job, role, point.number))
