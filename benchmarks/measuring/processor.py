"""What a measurement runs on: so many cores, an engine of as many threads, a clock that fits; the peak of memory."""

from __future__ import annotations

import ctypes
import os
import re
import statistics
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from hekat.engine.interface import Engine
from hekat.engine.select import get_engine

PROCESS = Path("/proc/self")


@contextmanager
def on_cores(count: int, engine_name: str = "cpu") -> Iterator[Engine]:
    """Within: this thread, and every thread it starts, on `count` cores, and an engine of as many threads.

    Threads that were started before stay where they are: what is to be pinned is made within.
    """
    before = os.sched_getaffinity(0)
    if count > len(before):
        raise SystemExit(f"{count} cores were asked for, {len(before)} are there")
    os.sched_setaffinity(0, sorted(before)[-count:])
    try:
        yield _make_engine(count, engine_name)
    finally:
        os.sched_setaffinity(0, before)


def _make_engine(thread_count: int, name: str) -> Engine:
    if name != "cpu":
        return get_engine(name)
    from hekat.engine.cpu import CpuEngine

    return CpuEngine(thread_count)


def clock_of(core_count: int) -> Callable[[], float]:
    """Processor time on one core, which leaves out what else the machine does; wall time on more."""
    return time.process_time if core_count == 1 else time.perf_counter


class Stages:
    """Seconds by stage of one pass, in the order in which stages were first met."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self.seconds: dict[str, float] = {}

    @contextmanager
    def measure(self, stage: str) -> Iterator[None]:
        """Adds what happens within to the stage's seconds."""
        start = self._clock()
        yield
        self.seconds[stage] = self.seconds.get(stage, 0.0) + self._clock() - start

    def total(self, stages: Sequence[str] | None = None) -> float:
        """Seconds of these stages together; of all where None."""
        return sum(self.seconds[stage] for stage in (self.seconds if stages is None else stages))


def median_of(passes: Sequence[Mapping[str, float]]) -> dict[str, float]:
    """The median of each entry over the passes."""
    return {name: statistics.median(one[name] for one in passes) for name in passes[0]}


def touch_memory(byte_count: int) -> None:
    """Write to so much memory and let it go, before what takes as much is timed.

    The first touch of a page takes the host of a virtual machine far longer than any later one; that is its own cost.
    """
    np.empty(byte_count, np.uint8).fill(1)


class PeakMemory:
    """How far this process' resident memory rises above what it was when this was made."""

    def __init__(self) -> None:
        # What was freed goes back to the system, so that taking it again is seen.
        ctypes.CDLL(None).malloc_trim(0)
        (PROCESS / "clear_refs").write_text("5")  # the kernel forgets the peak so far
        self._before = _status_bytes("VmRSS")

    def rise_bytes(self) -> int:
        """Peak since then less what was resident then."""
        return max(0, _status_bytes("VmHWM") - self._before)


def _status_bytes(name: str) -> int:
    found = re.search(rf"^{name}:\s+(\d+) kB$", (PROCESS / "status").read_text(), re.MULTILINE)
    assert found is not None
    return int(found[1]) * 1024
