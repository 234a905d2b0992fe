"""Calls of the command line as a user makes them, each with its time, processor time and memory."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Call:
    """What one call took, from its start to its end: seconds of wall time, of processor time, and MiB at most."""

    seconds: float
    processor_s: float
    peak_mib: float


def call_hekat(folder: Path, *arguments: str) -> Call:
    """`hekat` with these arguments in `folder`. Raises RuntimeError with what it printed where it does not end well."""
    with tempfile.TemporaryFile() as printed:
        start = time.perf_counter()
        process = subprocess.Popen(
            [sys.executable, "-m", "hekat.cli.main", *arguments], cwd=folder, stdout=printed, stderr=subprocess.STDOUT
        )
        _, status, used = os.wait4(process.pid, 0)
        seconds = time.perf_counter() - start
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            printed.seek(0)
            told = printed.read().decode(errors="replace")
            raise RuntimeError(f"hekat {' '.join(arguments)} ended with {process.returncode}:\n{told}")
    return Call(seconds, used.ru_utime + used.ru_stime, used.ru_maxrss / 1024)


def the_run(folder: Path) -> Path:
    """The folder of the only run that was made in `folder`."""
    (run,) = (folder / "runs").iterdir()
    return run
