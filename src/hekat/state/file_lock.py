"""A lock that one holder at a time has, beside a file that several threads or processes write."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from hekat.disk_errors import disk_errors_as_state_errors


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Holds `<name>.lock` beside the file, against other processes and other threads.

    Raises StateError where the disk does not take it.
    """
    lock_path = path.with_name(path.name + ".lock")
    with disk_errors_as_state_errors(f"{lock_path} cannot be locked"):
        handle = os.open(lock_path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        with disk_errors_as_state_errors(f"{lock_path} cannot be locked"):
            fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)
