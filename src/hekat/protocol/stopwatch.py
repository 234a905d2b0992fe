"""A role's seconds by step."""

from __future__ import annotations

import time
from collections import defaultdict
from contextlib import AbstractContextManager


class Stopwatch:
    """Adds up seconds by step name. No step measures time that a role waits for another one.

    On one machine roles take turns, so each figure is as on a machine to itself.
    """

    def __init__(self) -> None:
        self.seconds: dict[str, float] = defaultdict(float)

    def measure(self, step: str) -> AbstractContextManager[None]:
        """A block whose seconds count as seconds of `step`, also where it raises."""
        return _Measured(self.seconds, step)


class _Measured:
    """One measured block; a class, since each message has two of them and a generator takes several times as long."""

    __slots__ = ("_seconds", "_start", "_step")

    def __init__(self, seconds: dict[str, float], step: str) -> None:
        self._seconds, self._step = seconds, step

    def __enter__(self) -> None:
        self._start = time.perf_counter()

    def __exit__(self, *error: object) -> None:
        self._seconds[self._step] += time.perf_counter() - self._start
