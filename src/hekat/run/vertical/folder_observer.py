"""Keeps what one party saves in the folder of its run, and reports its steps: for a role that plays alone."""

from __future__ import annotations

from typing import Any

from hekat.protocol.vertical.phases import TRAINING
from hekat.run.predictions import PARTS_FOLDER
from hekat.run.progress import Progress
from hekat.run.role_folder import RoleFolder
from hekat.run.vertical.checkpoint_files import CHECKPOINTS_FOLDER, PartyCheckpoint
from hekat.run.vertical.role import ColumnsObserver
from hekat.run.vertical.steps import TrainingSteps


class FolderObserver(ColumnsObserver):
    """`saved` says what lies in the folder to go on from; "" for nothing."""

    def __init__(self, steps: TrainingSteps, folder: RoleFolder, progress: Progress) -> None:
        self._steps, self._folder, self._progress = steps, folder, progress
        self._is_training = False
        self.saved = ""

    def note_matching(self, role: str, work: str, done: int, total: int) -> None:
        self._progress.reach(f"{role}: {work}", done, total)

    def note_common(self, role: str, count: int) -> None:
        self._folder.events.write("intersection", kind=self._steps.job.intersection_kind, common=count)
        self._begin_training()

    def note_step(self, role: str, record: Any) -> None:
        self._begin_training()  # a role without rows matches none
        self._folder.events.write(**self._steps.event(record))
        self._progress.advance(TRAINING, self._steps.say(self._steps.number_of(record), record.loss))

    def _begin_training(self) -> None:
        if not self._is_training:
            self._is_training = True
            self._progress.begin(TRAINING, self._steps.most)

    def save(self, role: str, kept: PartyCheckpoint[Any]) -> None:
        steps = self._steps
        steps.form.save(self._folder.path / CHECKPOINTS_FOLDER, steps.job, role, kept)
        self.saved = f"checkpoint of {steps.form.word} {steps.steps_of(kept.state)}"

    def save_part(self, part: Any) -> None:
        self._steps.save_part(self._folder.path / PARTS_FOLDER, part)
