"""Hands memory that tests have freed back to the system, where a process of tests has grown by much of it.

Threads of a run allocate in arenas of their own, which glibc keeps: after some large networks a worker would hold a
gigabyte and more that nobody uses, beside the other workers.
"""

from __future__ import annotations

import ctypes
import gc
import os
import time
from collections.abc import Generator
from pathlib import Path

import pytest

GROWTH_BYTES = 500 << 20
# Short tests come by the thousand, and the system takes a while to answer.
LOOK_EVERY_S = 0.2
STATM = Path("/proc/self/statm")


def resident_bytes() -> int:
    """The second number of proc(5)'s statm, in pages; 0 where the system does not tell."""
    return int(STATM.read_text(encoding="ascii").split()[1]) * os.sysconf("SC_PAGE_SIZE") if STATM.exists() else 0


class FreedMemory:
    def __init__(self) -> None:
        self._trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
        self._kept_bytes = resident_bytes()
        self._looked_at_s = -LOOK_EVERY_S

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self) -> Generator[None, object, object]:
        answer = yield
        now_s = time.monotonic()
        if now_s - self._looked_at_s < LOOK_EVERY_S:
            return answer
        self._looked_at_s = now_s
        if self._trim is not None and resident_bytes() - self._kept_bytes > GROWTH_BYTES:
            gc.collect()
            self._trim(0)
            self._kept_bytes = resident_bytes()
        return answer


def pytest_configure(config: pytest.Config) -> None:
    config.pluginmanager.register(FreedMemory(), "freed_memory")
