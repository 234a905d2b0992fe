"""Follows the event logs of roles that play in processes of their own, while these write them."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from threading import Event, Thread
from types import TracebackType
from typing import Any, Self

LOOK_EVERY_S = 0.1
Told = Callable[[str, Mapping[str, Any]], None]


class EventFollower:
    """Tells each line of `logs`, by role, once and in order; what is there at the end of the block is told too."""

    def __init__(self, logs: Mapping[str, Path], told: Told) -> None:
        self._logs, self._told = logs, told
        self._read = dict.fromkeys(logs, 0)
        self._is_over = Event()
        self._failure: Exception | None = None
        self._thread = Thread(target=self._follow, name="hekat-events", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._is_over.set()
        self._thread.join()
        if self._failure is None:
            self._try_to_look()
        if self._failure is not None and error is None:
            raise self._failure

    def _follow(self) -> None:
        while self._failure is None and not self._is_over.wait(LOOK_EVERY_S):
            self._try_to_look()

    def _try_to_look(self) -> None:
        try:
            self._look()
        except Exception as error:
            # To be raised at the end of the block, unless what ends it matters more.
            self._failure = error

    def _look(self) -> None:
        for role, path in self._logs.items():
            try:
                with path.open("rb") as file:
                    file.seek(self._read[role])
                    lines = file.read()
            except OSError:
                continue
            whole, newline, _ = lines.rpartition(b"\n")
            self._read[role] += len(whole) + len(newline)
            for line in whole.splitlines():
                try:
                    event = json.loads(line)
                except ValueError:
                    continue
                if isinstance(event, dict):
                    self._told(role, event)
