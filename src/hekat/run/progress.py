"""The progress that a run reports while it goes on, for displays."""

from __future__ import annotations

from pathlib import Path
from typing import Protocol

from hekat.protocol.role_session import RoleSession


class Progress(Protocol):
    """What the command line shows while a run goes on."""

    def open_folder(self, folder: Path) -> None: ...

    def begin(self, phase: str, step_count: int) -> None: ...

    def advance(self, phase: str, text: str) -> None: ...

    def reach(self, work: str, done: int, total: int) -> None:
        """How far unannounced `work` is; called many times a second, from any thread."""

    def search_key(self, tried: int, found: int) -> None: ...

    def note_dropout(self, party: str, step: str, reason: str) -> None: ...

    def watch(self, role: str, session: RoleSession) -> None:
        """`role` is about to play `session`, whose stopwatch and traffic may be read while it does, from any thread."""


class Silence:
    """Shows nothing."""

    def open_folder(self, folder: Path) -> None:
        return None

    def begin(self, phase: str, step_count: int) -> None:
        return None

    def advance(self, phase: str, text: str) -> None:
        return None

    def reach(self, work: str, done: int, total: int) -> None:
        return None

    def search_key(self, tried: int, found: int) -> None:
        return None

    def note_dropout(self, party: str, step: str, reason: str) -> None:
        return None

    def watch(self, role: str, session: RoleSession) -> None:
        return None
