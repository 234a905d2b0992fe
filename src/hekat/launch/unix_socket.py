"""The file of a Unix socket: with a path that fits, and from its first moment on for its owner alone."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from hekat.errors import InputError

# What a Unix socket's address holds, without the zero at its end.
MAX_PATH_BYTES = 107


def bind_private(path: Path) -> socket.socket:
    """A socket at `path` that only this user may connect to (mode 600); it does not listen yet.

    Raises InputError for a path too long, OSError where no socket can be made.
    """
    taken = len(os.fsencode(path))
    if taken > MAX_PATH_BYTES:
        raise InputError(
            "the path is too long for a socket",
            expected=f"up to {MAX_PATH_BYTES} bytes",
            got=f"{taken}",
            cure="name a shorter path, such as /run/hekat/north.sock; with --processes, a shorter TMPDIR",
        )
    bound = socket.socket(socket.AF_UNIX)
    try:
        with _private_files():
            bound.bind(str(path))
    except BaseException:
        bound.close()
        raise
    return bound


@contextmanager
def _private_files() -> Iterator[None]:
    former = os.umask(0o177)
    try:
        yield
    finally:
        os.umask(former)
