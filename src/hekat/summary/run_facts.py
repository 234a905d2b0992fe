"""What every summary says of the run itself: when it ended, and by which versions, machine and engine."""

from __future__ import annotations

import os
import platform
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any, Literal, TypedDict

from hekat.engine.select import get_engine
from hekat.summary.summary_format import SUMMARY_FORMAT

_PACKAGES = ("hekat", "numpy", "cryptography", "gmpy2", "scikit-learn")

Played = Literal["in turn", "at once", "alone"]


class RunFacts(TypedDict):
    """The first fields of every summary.json.

    `played`: all roles in one process, "in turn"; each in a process of its own on one machine, "at once"; or one role
    on its machine, "alone", so that what only other roles know is not in its summary.
    """

    format: int
    run_id: str
    job: str
    job_digest: str
    finished_at: str
    versions: dict[str, str]
    machine: dict[str, str | int]
    engine: dict[str, Any]
    played: Played


def facts_of_run(run_id: str, job_name: str, job_digest: bytes, played: Played) -> RunFacts:
    """The facts of a run that ends now."""
    return RunFacts(
        format=SUMMARY_FORMAT.newest,
        run_id=run_id,
        job=job_name,
        job_digest=job_digest.hex(),
        finished_at=datetime.now(UTC).isoformat(timespec="seconds"),
        versions=package_versions(_PACKAGES),
        machine=machine_facts(),
        engine={"name": get_engine().name, **get_engine().describe()},
        played=played,
    )


def machine_facts() -> dict[str, str | int]:
    """Processor, cores that this process may use, and system."""
    return {"cpu": _cpu_name(), "cores": _core_count(), "platform": platform.platform()}


def package_versions(names: Sequence[str]) -> dict[str, str]:
    """The versions of Python and of installed packages."""
    return {"python": platform.python_version(), **{name: version(name) for name in names}}


def _cpu_name() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor() or "unknown"
    return next((line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), "unknown")


def _core_count() -> int:
    return len(os.sched_getaffinity(0)) if sys.platform == "linux" else (os.cpu_count() or 1)
