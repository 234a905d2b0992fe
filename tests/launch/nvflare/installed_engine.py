"""The installed NVIDIA FLARE in tests: one at a time, in processes that end with the test."""

from __future__ import annotations

import fcntl
import os
import signal
import socket
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


def skip_where_ports_are_taken() -> None:
    """Skip a test of a POC, which takes these two ports and no others."""
    for port in (8002, 8003):
        with socket.socket() as free:
            if free.connect_ex(("127.0.0.1", port)) == 0:
                pytest.skip(f"port {port} is taken")


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
