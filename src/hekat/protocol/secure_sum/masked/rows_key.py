"""The key beside a release record under which it keeps rows: the record without the key tests no guess of them."""

from __future__ import annotations

import os
import secrets
from pathlib import Path

from hekat.atomic_file import replace_file
from hekat.disk_errors import disk_errors_as_state_errors, read_file
from hekat.errors import StateError
from hekat.protocol.secure_sum.masked.opening.release_record import ROWS_KEY_BYTES
from hekat.state.checksum_line import with_checksum

ROWS_KEY_FILE = "rows.key"
_TITLE = "hekat rows key 1"


def read_rows_key(folder: Path) -> bytes | None:
    """The key of a state folder; None where none was made. Raises StateError where it is damaged."""
    path = folder / ROWS_KEY_FILE
    with disk_errors_as_state_errors(f"{path} cannot be read"):
        if not os.path.lexists(path):
            return None
    data = read_file(path)
    # No error shows the key, only whether the file is as it was written.
    text = data[len(_TITLE) + 1 :][: 2 * ROWS_KEY_BYTES].decode("ascii", "replace")
    key = bytes.fromhex(text) if len(text) == 2 * ROWS_KEY_BYTES and not text.strip("0123456789abcdef") else b""
    if _encode(key) != data:
        raise StateError(
            f"{path} is damaged",
            expected="the file as it was written",
            got=f"{len(data)} bytes that do not hold together",
            cure="put it back from a copy: under another key no row of an earlier job is known again",
        )
    return key


def make_rows_key(folder: Path) -> bytes:
    """A fresh key for a state folder that has none, on disk before it is returned. Raises StateError."""
    key = secrets.token_bytes(ROWS_KEY_BYTES)
    replace_file(folder / ROWS_KEY_FILE, _encode(key))
    return key


def _encode(key: bytes) -> bytes:
    return with_checksum(f"{_TITLE}\n{key.hex()}\n".encode())
