"""Time on a device: what its stream takes from one event to another, and what the caller waits."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Times:
    """Medians in seconds: `device_s` between events on the stream, `wall_s` until the result is there."""

    device_s: float
    wall_s: float


class EventClock:
    """By CUDA events on the calling thread's stream of a `CupyDevice`."""

    def __init__(self, device: Any) -> None:
        import cupy

        self._cupy, self._device = cupy, device

    def time_once(self, call: Callable[[], object]) -> tuple[float, float]:
        with self._device.active() as stream:
            begin, end = self._cupy.cuda.Event(), self._cupy.cuda.Event()
            stream.synchronize()
            start = time.perf_counter()
            begin.record(stream)
            result = call()
            end.record(stream)
            # Of all threads' streams.
            self._cupy.cuda.runtime.deviceSynchronize()
            wall = time.perf_counter() - start
            # Only now: what is freed is wiped, which is not the operation's time.
            del result
            return self._cupy.cuda.get_elapsed_time(begin, end) / 1e3, wall


class WallClock:
    """For engines without events: both times are the caller's."""

    def time_once(self, call: Callable[[], object]) -> tuple[float, float]:
        start = time.perf_counter()
        call()
        wall = time.perf_counter() - start
        return wall, wall


def median_times(clock: EventClock | WallClock, call: Callable[[], object], repeats: int) -> Times:
    """Of `repeats` calls, after one that is not counted."""
    clock.time_once(call)
    turns = [clock.time_once(call) for _ in range(repeats)]
    return Times(statistics.median(turn[0] for turn in turns), statistics.median(turn[1] for turn in turns))
