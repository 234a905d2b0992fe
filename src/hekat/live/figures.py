"""Figures of roles and of this process: what they have worked, sent, received, and what of the machine they use."""

from __future__ import annotations

import json
import os
import resource
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

from hekat.disk_errors import disk_errors_as_state_errors
from hekat.engine.select import get_engine
from hekat.live.facts import Fact
from hekat.live.state import LiveState, Machine, RoleWork
from hekat.protocol.role_session import RoleSession

_STATM = Path("/proc/self/statm")
_GPU_EVERY_S = 5.0
# What an engine on a GPU says of it that changes or names it.
_OF_GPU = ("device", "memory", "temperature", "load")


def read_role(
    role: str, session: RoleSession, *, alone: bool = False, elapsed_s: float | None = None
) -> RoleWork | None:
    """What `role` has done so far; `alone` in this process, whose figures are then its own.

    `elapsed_s` are the seconds since its session began, None where it takes turns with others. None is returned where
    the role changes its figures just now: they are read without holding it up.
    """
    try:
        seconds = {part: float(spent) for part, spent in dict(session.stopwatch.seconds).items()}
        traffic = list(session.traffic.values())
    except RuntimeError:
        return None
    return RoleWork(
        role=role,
        seconds=seconds,
        waiting_s=max(0.0, (elapsed_s or 0.0) - sum(seconds.values())),
        sent_bytes=sum(one.sent_bytes for one in traffic),
        received_bytes=sum(one.received_bytes for one in traffic),
        sent_count=sum(one.sent_count for one in traffic),
        received_count=sum(one.received_count for one in traffic),
        cpu_s=time.process_time() if alone else 0.0,
        memory_bytes=_resident_bytes() if alone else 0,
    )


class MachineReader:
    """Reads what this process uses, and how many processors since the reading before."""

    def __init__(self) -> None:
        self._cpu_s, self._at = time.process_time(), time.monotonic()
        self._share = 0.0
        self._gpu: Mapping[str, str] = {}
        self._gpu_at = -_GPU_EVERY_S

    def read(self) -> Machine:
        """The figures now."""
        cpu_s, now = time.process_time(), time.monotonic()
        if now - self._at >= 1.0:
            self._share = (cpu_s - self._cpu_s) / (now - self._at)
            self._cpu_s, self._at = cpu_s, now
        if now - self._gpu_at >= _GPU_EVERY_S:
            self._gpu, self._gpu_at = _read_gpu(), now
        return Machine(
            cores=len(os.sched_getaffinity(0)),
            cpu_s=cpu_s,
            cpu_share=self._share,
            memory_bytes=_resident_bytes(),
            peak_memory_bytes=1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss,
            gpu=self._gpu,
        )


class FiguresFile:
    """A sink that keeps one role's figures in a file, for the process that shows them.

    Raises StateError where the file cannot be made; later a disk that takes no more leaves the figures as they were.
    """

    def __init__(self, path: Path, role: str) -> None:
        self._path, self._role = path, role
        with disk_errors_as_state_errors(f"{path} could not be written"):
            write_role(path, RoleWork(role))

    def take(self, state: LiveState, facts: Sequence[Fact]) -> None:
        for work in state.roles:
            if work.role == self._role:
                with suppress(OSError):
                    write_role(self._path, work)


def write_role(path: Path, work: RoleWork) -> None:
    """Write the figures for the process that shows them, whole or not at all, mode 0600. Raises OSError."""
    passing = path.with_name(f"{path.name}.new")
    handle = os.open(passing, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, 0o600)
    with os.fdopen(handle, "w", encoding="utf-8") as file:
        json.dump(asdict(work), file)
    passing.replace(path)


def load_role(path: Path, role: str) -> RoleWork | None:
    """What `write_role` wrote for `role`; None where nothing of the kind is there."""
    try:
        content = json.loads(path.read_bytes())
        if set(content) != {one.name for one in fields(RoleWork)} or content["role"] != role:
            return None
        seconds = {str(part): float(spent) for part, spent in content["seconds"].items()}
        numbers = {name: _number(content[name]) for name in content if name not in ("role", "seconds")}
    except (OSError, ValueError, TypeError, AttributeError, RecursionError):
        return None
    return RoleWork(role=role, seconds=seconds, **numbers)


def _number(value: Any) -> Any:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise TypeError("expected a number")
    return value


def _resident_bytes() -> int:
    try:
        return int(_STATM.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, IndexError):
        return 0


def _read_gpu() -> Mapping[str, str]:
    told = get_engine().describe()
    return {name: str(told[name]) for name in _OF_GPU if name in told} if "device" in told else {}
