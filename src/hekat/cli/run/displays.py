"""Tells several displays of a run as one: the terminal, and what watches the run besides."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from hekat.protocol.role_session import RoleSession
from hekat.run.progress import Progress


class Displays:
    """A display that passes on to each of `displays` in their order; `folder` is the run's, once it has one."""

    def __init__(self, displays: Sequence[Progress]) -> None:
        self._displays = tuple(displays)
        self.folder: Path | None = None

    def open_folder(self, folder: Path) -> None:
        self.folder = folder
        for display in self._displays:
            display.open_folder(folder)

    def begin(self, phase: str, step_count: int) -> None:
        for display in self._displays:
            display.begin(phase, step_count)

    def advance(self, phase: str, text: str) -> None:
        for display in self._displays:
            display.advance(phase, text)

    def reach(self, work: str, done: int, total: int) -> None:
        for display in self._displays:
            display.reach(work, done, total)

    def search_key(self, tried: int, found: int) -> None:
        for display in self._displays:
            display.search_key(tried, found)

    def note_dropout(self, party: str, step: str, reason: str) -> None:
        for display in self._displays:
            display.note_dropout(party, step, reason)

    def watch(self, role: str, session: RoleSession) -> None:
        for display in self._displays:
            display.watch(role, session)
