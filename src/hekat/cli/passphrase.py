"""The passphrase of a key file, from a file or from the terminal; never from the command line."""

from __future__ import annotations

import getpass
import sys
from pathlib import Path

from hekat.errors import KeyRefusedError
from hekat.launch.passphrase_file import read_passphrase_file


def read_passphrase(path: Path | None, whose: str) -> bytes:
    """The passphrase from the file at `path`, or typed at the terminal.

    `whose` key file it opens, as in "the leader's". Raises KeyRefusedError where there is neither.
    """
    if path is not None:
        return read_passphrase_file(path)
    if not sys.stdin.isatty():
        raise KeyRefusedError(
            f"{whose} key file is protected by a passphrase",
            expected="--passphrase-file, or a terminal to ask at",
            got="neither",
            cure="add --passphrase-file FILE (mode 600)",
        )
    return getpass.getpass(f"passphrase of {whose} key file: ").encode()
