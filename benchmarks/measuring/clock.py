"""Lines of a long benchmark, each with the minutes since it began."""

from __future__ import annotations

import time


class Clock:
    """Prints lines with the minutes since it was made."""

    def __init__(self) -> None:
        self._start = time.perf_counter()

    def __call__(self, line: str) -> None:
        seconds = int(time.perf_counter() - self._start)
        print(f"{seconds // 60:3d}:{seconds % 60:02d}  {line}", flush=True)
