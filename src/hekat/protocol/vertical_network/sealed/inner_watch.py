"""Seconds of a step whose parts are measured by themselves, and count once: under the innermost label."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager

from hekat.protocol.stopwatch import Stopwatch


class InnerWatch:
    """Adds to a role's stopwatch. A batch waits for the other party in its midst, and such time counts for nothing."""

    def __init__(self, stopwatch: Stopwatch) -> None:
        self._stopwatch, self._label, self._since = stopwatch, "", 0.0

    @contextmanager
    def measure(self, label: str) -> Iterator[None]:
        """A block whose seconds count under `label` but for the blocks that are measured within it."""
        outer = self._turn_to(label)
        try:
            yield
        finally:
            self._turn_to(outer)

    def pause(self) -> AbstractContextManager[None]:
        """A block whose seconds do not count here."""
        return self.measure("")

    def _turn_to(self, label: str) -> str:
        now, before = time.perf_counter(), self._label
        if before:
            self._stopwatch.seconds[before] += now - self._since
        self._label, self._since = label, now
        return before
