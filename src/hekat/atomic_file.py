"""Files that are whole or not there: after a crash or a full disk the old content or the new one is on the disk."""

from __future__ import annotations

import errno
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from hekat.disk_errors import disk_errors_as_state_errors
from hekat.errors import StateError


def create_file(path: Path, data: bytes, *, mode: int) -> None:
    """Create `path` holding `data` with permission bits `mode`, durably, and never over another file.

    Raises StateError where a file is already there, or where the disk or the folder does not take it; in either
    case nothing new is left behind.
    """
    if os.path.lexists(path):
        raise already_there(path)
    with disk_errors_as_state_errors(f"{path} could not be written, nothing was left behind"):
        with _finished_file(path, data, mode) as temporary:
            _name_file(temporary, path)
        try:
            sync_folder(path.parent)
        except OSError:
            path.unlink()
            raise


def already_there(path: Path) -> StateError:
    """The refusal to write over `path`."""
    return StateError(
        f"{path} is already there and is not overwritten",
        expected="a path where no file is",
        cure="choose another path, or move the old file away first",
    )


def replace_file(path: Path, data: bytes, *, mode: int = 0o600) -> None:
    """Make `path` hold `data` with permission bits `mode`, durably, whether or not it was there before.

    Raises StateError with the cure; `path` then is as it was, and nothing else is left behind. (Only where the disk
    fails in the very last step, syncing the folder, is the new content in place although it may not outlast a crash.)
    """
    with disk_errors_as_state_errors(f"{path} could not be written"):
        with _finished_file(path, data, mode) as temporary:
            temporary.replace(path)
        sync_folder(path.parent)


def overwrite_file(path: Path, data: bytes) -> None:
    """Make `path`, for its owner alone, hold `data`, in place: only for what nobody reads after this process has ended.

    Raises StateError with the cure; a part may have been written then.
    """
    with disk_errors_as_state_errors(f"{path} could not be written"):
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        try:
            write_all(handle, data)
        finally:
            os.close(handle)


def write_all(handle: int, data: bytes) -> None:
    """Write all of `data`, which a single os.write need not. Raises OSError; then a part may have been written."""
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(handle, rest) :]


def sync_folder(folder: Path) -> None:
    """Make the names in `folder` outlast a crash. Raises OSError."""
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


@contextmanager
def _finished_file(path: Path, data: bytes, mode: int) -> Iterator[Path]:
    """A file beside `path` that holds `data` on the disk, for the caller to name; it is gone afterwards."""
    temporary = path.parent / f".{path.name[:100]}.{secrets.token_hex(8)}"
    handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        try:
            os.fchmod(handle, mode)
            write_all(handle, data)
            os.fsync(handle)
        finally:
            os.close(handle)
        yield temporary
    finally:
        with suppress(OSError):
            temporary.unlink()


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
