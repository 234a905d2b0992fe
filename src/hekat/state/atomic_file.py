"""Replaces a file whole or not at all: after a crash or a full disk the old content or the new one is there."""

from __future__ import annotations

import os
import secrets
from contextlib import suppress
from pathlib import Path

from hekat.state.disk_errors import disk_errors_as_state_errors


def replace_file(path: Path, data: bytes, *, mode: int = 0o600) -> None:
    """Make `path` hold `data` with permission bits `mode`, durably, whether or not it was there before.

    Raises StateError with the cure; `path` then is as it was, and nothing else is left behind. (Only where the disk
    fails in the very last step, syncing the folder, is the new content in place although it may not outlast a crash.)
    """
    temporary = path.parent / f".{path.name[:100]}.{secrets.token_hex(8)}"
    with disk_errors_as_state_errors(f"{path} could not be written"):
        handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        try:
            try:
                os.fchmod(handle, mode)
                write_all(handle, data)
                os.fsync(handle)
            finally:
                os.close(handle)
            temporary.replace(path)
        except BaseException:
            with suppress(OSError):
                temporary.unlink()
            raise
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
