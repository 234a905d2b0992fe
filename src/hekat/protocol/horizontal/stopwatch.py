"""Where a role's time goes, by step; on one machine roles take turns, so each figure is that of a free machine."""

from __future__ import annotations

import threading
import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager


class Stopwatch:
    """Adds up seconds by step name.

    `turn`, shared by the roles of one machine, is held while a step runs: computing in turns instead of all at once
    changes no total on a busy machine, and makes every party's figure what it would be on a machine of its own.
    Waiting for another party is never measured as a step and never holds the turn.
    """

    def __init__(self, turn: threading.Lock | None = None) -> None:
        self._turn = turn or threading.Lock()
        self.seconds: dict[str, float] = defaultdict(float)

    @contextmanager
    def measure(self, step: str) -> Iterator[None]:
        with self._turn:
            start = time.perf_counter()
            try:
                yield
            finally:
                self.seconds[step] += time.perf_counter() - start
