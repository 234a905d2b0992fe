"""The file of a Unix socket: with a path that fits, and from its first moment on for its owner alone."""

from __future__ import annotations

import os
import socket
from pathlib import Path

from hekat.errors import InputError

# What a Unix socket's address holds, without the zero at its end.
MAX_PATH_BYTES = 107


def check_path(path: Path) -> None:
    """Raise InputError for a path too long."""
    taken = len(os.fsencode(path))
    if taken > MAX_PATH_BYTES:
        raise InputError(
            "the path is too long for a socket",
            expected=f"up to {MAX_PATH_BYTES} bytes",
            got=f"{taken}",
            cure="name a shorter path, such as /run/hekat/north.sock; with --processes, a shorter TMPDIR",
        )


def bind_private(path: Path) -> socket.socket:
    """A socket at `path` that only this user may connect to (mode 600); it does not listen yet.

    Raises InputError for a path too long, OSError where no socket can be made.
    """
    check_path(path)
    bound = socket.socket(socket.AF_UNIX)
    try:
        # Linux gives the file the mode that the socket has when it is bound; the umask is every thread's.
        os.fchmod(bound.fileno(), 0o600)
        bound.bind(str(path))
    except BaseException:
        bound.close()
        raise
    return bound
