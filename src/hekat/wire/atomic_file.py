"""Small files written whole or not at all, and never over another file."""

from __future__ import annotations

import errno
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from hekat.errors import StateError


def create_file(path: Path, data: bytes, *, mode: int) -> None:
    """Create `path` holding `data` with permission bits `mode`, durably.

    Raises StateError where a file is already there, or where the disk or the folder does not take it; in either
    case nothing new is left behind.
    """
    if os.path.lexists(path):
        raise already_there(path)
    with _as_state_error(path):
        handle, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
        try:
            with os.fdopen(handle, "wb") as file:
                os.fchmod(file.fileno(), mode)
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            _name_file(Path(name), path)
        finally:
            with suppress(FileNotFoundError):
                Path(name).unlink()
        try:
            _sync_folder(path.parent)
        except OSError:
            path.unlink()
            raise


def already_there(path: Path) -> StateError:
    """The refusal to write over `path`."""
    return StateError(
        f"{path} is already there and is not written over",
        expected="a path where no file is",
        cure="choose another path, or move the old file away first",
    )


def _name_file(temporary: Path, path: Path) -> None:
    """Give the finished file its name; of two writers at once, one wins and the other is refused."""
    try:
        path.hardlink_to(temporary)
        return
    except FileExistsError:
        raise already_there(path) from None
    except OSError as error:
        if error.errno not in (errno.EPERM, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK):
            raise
    # A file system without hard links: take the name with an empty file of our own, then replace that one.
    try:
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
    except FileExistsError:
        raise already_there(path) from None
    try:
        temporary.replace(path)
    except OSError:
        path.unlink()
        raise


def _sync_folder(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


@contextmanager
def _as_state_error(path: Path) -> Iterator[None]:
    cures = {
        errno.ENOSPC: "free some space on the disk, then try again",
        errno.EDQUOT: "free some of your disk quota, then try again",
        errno.EROFS: "choose a folder that can be written to",
        errno.EACCES: "choose a folder that you may write to",
        errno.ENOENT: f"make the folder {path.parent} first",
        errno.ENOTDIR: "choose a path inside a folder",
        errno.ENAMETOOLONG: "choose a shorter file name",
    }
    try:
        yield
    except OSError as error:
        reason = error.strerror or type(error).__name__
        cure = cures.get(error.errno or 0, "look at the disk and the folder, then try again")
        raise StateError(f"{path} could not be written, nothing was left behind", got=reason, cure=cure) from error
