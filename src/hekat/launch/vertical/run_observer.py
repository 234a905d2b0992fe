"""Passes on the reports of a run's roles in this process: to its log, the terminal, and its folder."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from hekat.errors import PartyStoppedError
from hekat.protocol.vertical.phases import TRAINING
from hekat.run.predictions import PARTS_FOLDER
from hekat.run.progress import Progress
from hekat.run.vertical.checkpoint_files import CHECKPOINTS_FOLDER, PartyCheckpoint
from hekat.run.vertical.role import ColumnsObserver
from hekat.run.vertical.steps import TrainingSteps
from hekat.state import EventLog


class RunObserver(ColumnsObserver):
    """Keeps what parties save, and reports the run as the guest sees it."""

    def __init__(
        self,
        steps: TrainingSteps,
        folder: Path,
        events: EventLog,
        progress: Progress,
        resumed: Mapping[str, PartyCheckpoint[Any]],
    ) -> None:
        """`resumed` are the checkpoints of a resumed run's parties, empty for a new run."""
        self._steps, self._folder, self._events, self._progress = steps, folder, events, progress
        self._guest = steps.job.settings.guest
        self._saved = {name: steps.steps_of(kept.state) for name, kept in resumed.items()}
        self._first = self._saved.get(self._guest, 0)
        self._is_training = False
        self._lock = threading.Lock()

    def note_matching(self, role: str, work: str, done: int, total: int) -> None:
        self._progress.reach(f"{role}: {work}", done, total)

    def note_common(self, role: str, count: int) -> None:
        if role != self._guest:
            return
        self._events.write("intersection", kind=self._steps.job.intersection_kind, common=count)
        if not self._is_training:
            self._is_training = True
            self._progress.begin(TRAINING, self._steps.most - self._first)

    def note_step(self, role: str, record: Any) -> None:
        if role == self._guest:
            self._events.write(**self._steps.event(record))
            self._progress.advance(TRAINING, self._steps.say(self._steps.number_of(record), record.loss))

    def save(self, role: str, kept: PartyCheckpoint[Any]) -> None:
        steps = self._steps
        steps.form.save(self._folder / CHECKPOINTS_FOLDER, steps.job, role, kept)
        with self._lock:
            self._saved[role] = steps.steps_of(kept.state)

    def save_part(self, part: Any) -> None:
        self._steps.save_part(self._folder / PARTS_FOLDER, part)

    def with_what_was_saved(self, error: PartyStoppedError) -> PartyStoppedError:
        """The same for the whole machine: a run goes on from the last step that every party saved."""
        number = min(self._saved.get(name, 0) for name in self._steps.job.settings.parties)
        return error.with_saved(f"checkpoints of {self._steps.form.word} {number}" if number else "")
