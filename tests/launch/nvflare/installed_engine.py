"""The installed NVIDIA FLARE in tests: one at a time, in processes that end with the test."""

from __future__ import annotations

import fcntl
import os
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest


@pytest.fixture(autouse=True)
def one_engine_at_a_time() -> Iterator[None]:
    """Engines that start side by side take each other's free ports."""
    with (Path(tempfile.gettempdir()) / "hekat-tests-nvflare.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def run_apart(words: list[str], environment: dict[str, str], *, timeout_s: float) -> subprocess.CompletedProcess[str]:
    """Run a command; where it takes too long, end it and what it started in its session."""
    process = subprocess.Popen(
        words, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    )
    try:
        out, err = process.communicate(timeout=timeout_s)
    except BaseException:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        raise
    return subprocess.CompletedProcess(words, process.returncode, out, err)
