"""Disks that refuse: simulated at each system call, and real ones through the process's file-size limit."""

from __future__ import annotations

import errno
import os
import resource
import signal
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any

import pytest


@pytest.fixture
def failing_call(monkeypatch: pytest.MonkeyPatch) -> Callable[[str, int], None]:
    """failing_call("fsync", errno.ENOSPC): from now on os.fsync raises that error."""

    def install(call: str, number: int) -> None:
        def fail(*_: Any, **__: Any) -> None:
            raise OSError(number, os.strerror(number))

        monkeypatch.setattr(os, call, fail)

    return install


@contextmanager
def _file_size_limit(limit_bytes: int) -> Iterator[None]:
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit_bytes, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, handler)


@pytest.fixture
def file_size_limit() -> Callable[[int], AbstractContextManager[None]]:
    """Within the context no file of this process grows beyond the limit: the kernel writes a part, then refuses."""
    return _file_size_limit


DISK_FAILURES = [
    ("write", errno.ENOSPC, "No space left on device; cure: free some space"),
    ("fsync", errno.ENOSPC, "No space left on device; cure: free some space"),
    ("write", errno.EDQUOT, "cure: free some of your disk quota"),
    ("open", errno.EACCES, "Permission denied; cure: choose a path that you have permission for"),
    ("open", errno.EROFS, "cure: choose a folder that can be written to"),
    ("fchmod", errno.EIO, "cure: look at the disk"),
]


@pytest.fixture(params=DISK_FAILURES, ids=lambda failure: f"{failure[0]}-{errno.errorcode[failure[1]]}")
def disk_failure(request: pytest.FixtureRequest) -> tuple[str, int, str]:
    """(system call, error number, what the message must say)."""
    failure: tuple[str, int, str] = request.param
    return failure
