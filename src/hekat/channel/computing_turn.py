"""The turn of the role that computes, where one process plays several: no role keeps threads that slow the next one.

libgomp, the OpenMP of PyTorch and scikit-learn, keeps a pool of threads for each thread that ever computed in parallel.
Once all pools together have more threads than the process has processors, none of them awaits its next piece of work
awake any more: each parallel region of each role then puts threads to sleep and wakes them, 36 times in one step of a
small network. That made training in a role's thread take twice as long as in a program of its own.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from threading import Lock

# omp_pause_soft: threads end, and what a program set of OpenMP stays.
_SOFT = 1


class ComputingTurn:
    """A lock that a role holds while it computes; giving it back ends the pool of the thread that held it."""

    def __init__(self) -> None:
        self._lock = Lock()

    def acquire(self) -> None:
        """Wait for the turn."""
        self._lock.acquire()

    def release(self) -> None:
        """Give the turn back."""
        try:
            end_own_pool()
        finally:
            self._lock.release()

    def __enter__(self) -> None:
        self.acquire()

    def __exit__(self, *error: object) -> None:
        self.release()


def end_own_pool() -> None:
    """End the threads that libgomp keeps for the calling thread, if any; its next parallel region starts them anew."""
    for pause in _pauses(len(sys.modules)):
        pause(_SOFT)


# A library comes with a module: they are looked for again once there are other modules.
@lru_cache(maxsize=1)
def _pauses(module_count: int) -> tuple[Callable[[int], int], ...]:
    """`omp_pause_resource_all` of each libgomp in this process; libraries of before OpenMP 5.0 have none."""
    try:
        maps = Path("/proc/self/maps").read_text()
    except OSError:
        return ()  # no Linux, where PyTorch and scikit-learn bring another OpenMP
    paths = sorted({line.split(maxsplit=5)[-1] for line in maps.splitlines() if "/libgomp" in line})
    return tuple(
        library.omp_pause_resource_all
        for library in map(ctypes.CDLL, paths)
        if hasattr(library, "omp_pause_resource_all")
    )
