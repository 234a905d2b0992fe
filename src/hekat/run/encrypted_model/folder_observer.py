"""Keeps what roles save in the folder of their run, and reports its rounds as one of them sees these."""

from __future__ import annotations

import threading
from pathlib import Path

from hekat.job.encrypted_model.job_file import EncryptedModelJob
from hekat.protocol.encrypted_model.owned_model import OwnedModel
from hekat.protocol.encrypted_model.party_run import ShareState
from hekat.run.encrypted_model.checkpoint_files import save_state
from hekat.run.encrypted_model.kept_part import KeptPart, save_kept_part
from hekat.run.encrypted_model.owner_model import save_owned_model
from hekat.run.encrypted_model.role import EncryptedModelObserver
from hekat.run.encrypted_model.rounds import phase_of, round_event, say_round
from hekat.run.progress import Progress
from hekat.state import EventLog


class FolderObserver(EncryptedModelObserver):
    """For the roles of one folder: all of them in this process, or one alone; `narrator` is whose rounds are told."""

    def __init__(
        self, folder: Path, job: EncryptedModelJob, narrator: str, events: EventLog, progress: Progress
    ) -> None:
        self._folder, self._job, self._narrator = folder, job, narrator
        self._events, self._progress = events, progress
        self._saved: dict[str, int] = {}
        self._metrics: dict[int, dict[str, float]] = {}
        self._lock = threading.Lock()

    def begin(self, round_count: int) -> None:
        """Say that training begins, with so many rounds to go."""
        self._progress.begin(phase_of(self._job), round_count)

    def note_round(self, role: str, number: int) -> None:
        if role == self._narrator:
            metrics = self._metrics.get(number, {})
            self._events.write(**round_event(self._job, number, metrics))
            self._progress.advance(phase_of(self._job), say_round(number, metrics))

    def save(self, role: str, state: ShareState) -> None:
        save_state(self._folder, self._job, role, state)
        with self._lock:
            self._saved[role] = state.rounds_done

    def note_model(self, model: OwnedModel, metrics: dict[str, float]) -> None:
        save_owned_model(self._folder, self._job, model)
        self._metrics[model.round_number] = metrics

    def keep_part(self, part: KeptPart) -> None:
        save_kept_part(self._folder, part)

    def saved(self, roles: tuple[str, ...]) -> str:
        """What all of these roles saved to go on from, in words; "" for nothing."""
        number = min(self._saved.get(role, 0) for role in roles)
        return f"checkpoint of round {number}" if number else ""
