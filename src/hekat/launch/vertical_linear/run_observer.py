"""Passes on the reports of a vertical run's roles in this process: to its log, the terminal, and its folder."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from pathlib import Path

from hekat.errors import PartyStoppedError
from hekat.protocol.vertical.phases import TRAINING
from hekat.protocol.vertical_linear.model_part import ModelPart
from hekat.protocol.vertical_linear.party_run import EpochRecord
from hekat.run.predictions import PARTS_FOLDER
from hekat.run.progress import Progress
from hekat.run.vertical_linear.checkpoint_files import CHECKPOINTS_FOLDER, PartyCheckpoint, save_party_checkpoint
from hekat.run.vertical_linear.load_inputs import VerticalInputs
from hekat.run.vertical_linear.part_file import save_part
from hekat.run.vertical_linear.role import VerticalObserver
from hekat.state import EventLog


class RunObserver(VerticalObserver):
    """Keeps what parties save, and reports the run as the guest sees it."""

    def __init__(
        self, inputs: VerticalInputs, folder: Path, events: EventLog, progress: Progress, epochs_done: Mapping[str, int]
    ) -> None:
        """`epochs_done` are the epochs of a resumed run's parties, empty for a new run."""
        job = inputs.job
        self._job, self._columns = job, inputs.columns
        self._folder, self._events, self._progress = folder, events, progress
        self._saved = dict(epochs_done)
        self._first_epoch = epochs_done.get(job.settings.guest, 0)
        self._is_training = False
        self._lock = threading.Lock()

    def note_matching(self, role: str, work: str, done: int, total: int) -> None:
        self._progress.reach(f"{role}: {work}", done, total)

    def note_common(self, role: str, count: int) -> None:
        settings = self._job.settings
        if role != settings.guest:
            return
        self._events.write("intersection", kind=self._job.intersection_kind, common=count)
        if not self._is_training:
            self._is_training = True
            self._progress.begin(TRAINING, settings.training.epochs - self._first_epoch)

    def note_epoch(self, role: str, record: EpochRecord) -> None:
        if role == self._job.settings.guest:
            self._events.write("epoch", epoch=record.epoch, loss=record.loss)
            text = f"epoch {record.epoch}" + ("" if record.loss is None else f", loss {record.loss:.4f}")
            self._progress.advance(TRAINING, text)

    def save(self, role: str, kept: PartyCheckpoint) -> None:
        save_party_checkpoint(self._folder / CHECKPOINTS_FOLDER, self._job, role, kept)
        with self._lock:
            self._saved[role] = kept.state.epochs_done

    def save_part(self, part: ModelPart) -> None:
        save_part(self._folder / PARTS_FOLDER, self._job, part, self._columns[part.party])

    def with_what_was_saved(self, error: PartyStoppedError) -> PartyStoppedError:
        """The same for the whole machine: a run goes on from the last epoch that every party saved."""
        epoch = min(self._saved.get(name, 0) for name in self._job.settings.parties)
        return error.with_saved(f"checkpoints of epoch {epoch}" if epoch else "")
