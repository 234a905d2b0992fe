"""Compiled kernels on disk: files are whole or absent; Hekat reads only files that nobody else could have written."""

from __future__ import annotations

import hashlib
import os
import stat
import tempfile
from pathlib import Path

CACHE_VARIABLE = "HEKAT_CACHE"
_MAGIC = b"hekat kernel 1\n"
_DIGEST_BYTES = hashlib.sha256().digest_size
_OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH


class KernelCache:
    """A folder of kernels; each name covers everything that its kernel was made of.

    Compiled code works on keys and plaintexts, so the cache ignores folders and files that belong to another user or
    that others may write. Without a usable folder, each process compiles kernels again.
    """

    def __init__(self, folder: Path | None) -> None:
        self.folder = folder

    def load(self, name: str) -> bytes | None:
        """The kernel that `store` kept as `name`; None where there is none, or none that can be trusted."""
        if self.folder is None or self.refusal() is not None:
            return None
        try:
            # Not through a link, and without waiting for the writer of a pipe, so that the file read is the file
            # checked.
            descriptor = os.open(self.folder / name, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK)
            with os.fdopen(descriptor, "rb") as file:
                if not _is_own(os.fstat(descriptor), stat.S_IFREG):
                    return None
                content = file.read()
        except OSError:
            return None
        head, digest, kernel = (
            content[: len(_MAGIC)],
            content[len(_MAGIC) : len(_MAGIC) + _DIGEST_BYTES],
            content[len(_MAGIC) + _DIGEST_BYTES :],
        )
        if head != _MAGIC or digest != hashlib.sha256(kernel).digest():
            return None
        return kernel

    def store(self, name: str, kernel: bytes) -> None:
        """Keep `kernel` as `name`, if the folder is usable; a full or read-only disk is no reason to stop."""
        if self.folder is None:
            return
        try:
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            if self.refusal() is not None:
                return
            with tempfile.NamedTemporaryFile(dir=self.folder, prefix=".", delete=False) as file:
                try:
                    file.write(_MAGIC + hashlib.sha256(kernel).digest() + kernel)
                    file.flush()
                    os.fsync(file.fileno())
                    Path(file.name).replace(self.folder / name)
                except OSError:
                    Path(file.name).unlink(missing_ok=True)
        except OSError:
            return

    def refusal(self) -> str | None:
        """Why the cache does not use the folder; None where it does, or could."""
        if self.folder is None:
            return "there is no home folder"
        try:
            state = os.lstat(self.folder)
        except FileNotFoundError:
            return None
        except OSError as error:
            return f"{self.folder} cannot be read: {error.strerror}"
        if not _is_own(state, stat.S_IFDIR):
            return f"{self.folder} is no folder of this user that others cannot write"
        return None

    def describe(self) -> str:
        """For `hekat doctor`: the folder, or why kernels are compiled in each process."""
        refusal = self.refusal()
        return str(self.folder) if refusal is None else f"not used: {refusal}"


def find_cache() -> KernelCache:
    """The cache in the folder of HEKAT_CACHE, else of XDG_CACHE_HOME, else ~/.cache/hekat."""
    asked = os.environ.get(CACHE_VARIABLE)
    if asked:
        return KernelCache(Path(asked).expanduser().absolute() / "kernels")
    base = os.environ.get("XDG_CACHE_HOME")
    # As the XDG specification says, a relative path counts as none.
    if base and Path(base).is_absolute():
        return KernelCache(Path(base) / "hekat" / "kernels")
    try:
        return KernelCache(Path.home() / ".cache" / "hekat" / "kernels")
    except RuntimeError:
        return KernelCache(None)


def _is_own(state: os.stat_result, kind: int) -> bool:
    """Whether it is of this kind, belongs to this user, and nobody else may write it."""
    return (
        stat.S_IFMT(state.st_mode) == kind
        and state.st_uid == os.geteuid()
        and not stat.S_IMODE(state.st_mode) & _OTHERS_WRITE
    )
