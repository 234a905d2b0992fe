"""Turns what the operating system says about a file into a StateError with its cure."""

from __future__ import annotations

import errno
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from hekat.errors import StateError

_CURES = {
    errno.ENOSPC: "free some space on the disk, then try again",
    errno.EDQUOT: "free some of your disk quota, then try again",
    errno.EFBIG: "raise the limit on file sizes, then try again",
    errno.EROFS: "choose a folder that can be written to",
    errno.EACCES: "choose a path that you have permission for",
    errno.EPERM: "choose a path that you have permission for",
    errno.ENOENT: "check the path; its folder must be there",
    errno.ENOTDIR: "choose a path inside a folder",
    errno.EISDIR: "give the path of a file, not of a folder",
    errno.ENAMETOOLONG: "choose a shorter name",
}


@contextmanager
def disk_errors_as_state_errors(what: str) -> Iterator[None]:
    """Raise StateError("`what`; got the system's reason; cure") in place of an OSError inside the block."""
    try:
        yield
    except OSError as error:
        reason = error.strerror or type(error).__name__
        cure = _CURES.get(error.errno or 0, "look at the disk and the folder, then try again")
        raise StateError(what, got=reason, cure=cure) from error


def read_file(path: Path) -> bytes:
    """All bytes of the file at `path`. Raises StateError."""
    with disk_errors_as_state_errors(f"{path} cannot be read"):
        return path.read_bytes()
