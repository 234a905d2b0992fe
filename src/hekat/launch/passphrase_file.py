"""The passphrase of a key file, from a file."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from hekat.errors import KeyRefusedError


def read_passphrase_file(path: Path) -> bytes:
    """The file's bytes without the line break at their end.

    Raises KeyRefusedError where it cannot be read, or others may read it.
    """
    try:
        with path.open("rb") as file:
            mode, passphrase = stat.S_IMODE(os.fstat(file.fileno()).st_mode), file.read()
    except OSError as error:
        raise KeyRefusedError(
            "the passphrase file cannot be read",
            expected="a readable file",
            got=f"{path}: {error.strerror}",
            cure="check the path",
        ) from None
    if mode & 0o077:
        raise KeyRefusedError(
            f"others may read the passphrase in {path}",
            expected="mode 600",
            got=f"mode {mode:o}",
            cure=f"chmod 600 {path}, and consider a new key: others may have had both",
        )
    return passphrase.rstrip(b"\r\n")
