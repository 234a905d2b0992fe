"""The passphrase of a key file, from a file."""

from __future__ import annotations

from pathlib import Path

from hekat.errors import KeyRefusedError


def read_passphrase_file(path: Path) -> bytes:
    """The file's bytes without the line break at their end. Raises KeyRefusedError where it cannot be read."""
    try:
        return path.read_bytes().rstrip(b"\r\n")
    except OSError as error:
        raise KeyRefusedError(
            "the passphrase file cannot be read",
            expected="a readable file",
            got=f"{path}: {error.strerror}",
            cure="check the path",
        ) from None
