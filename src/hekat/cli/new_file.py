"""Writes a file that only its owner may read, and replaces an existing one only where the command says so."""

from __future__ import annotations

import os
from pathlib import Path

from hekat.atomic_file import already_there, create_file
from hekat.errors import StateError
from hekat.state import replace_file


def check_is_free(path: Path, *, force: bool) -> None:
    """Raise StateError where something lies at `path` already, unless `force`."""
    if not force and os.path.lexists(path):
        refusal = already_there(path)
        raise StateError(refusal.what, expected=refusal.expected, cure=f"{refusal.cure}, or say --force")


def write_new(path: Path, content: bytes, *, force: bool) -> None:
    """Write a new file of mode 600; with `force` in the place of another. Raises StateError."""
    if force:
        replace_file(path, content, mode=0o600)
    else:
        create_file(path, content, mode=0o600)
