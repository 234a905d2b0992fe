"""Reads the tables of `hekat init --from` as a whole, and says how far it is where that takes a while."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from pathlib import Path

from hekat.cli.printable import printable
from hekat.data.profile.table_profile import TableProfile, profile_csv

_QUIET_S = 3.0


def read_tables(paths: Sequence[Path]) -> list[TableProfile]:
    """What each table holds. Raises InputError for one that cannot be read."""
    progress = _Progress()
    return [profile_csv(path, progress) for path in paths]


class _Progress:
    """A line on stderr every few seconds."""

    def __init__(self) -> None:
        self._told_at = time.monotonic()

    def __call__(self, name: str, rows: int) -> None:
        now = time.monotonic()
        if now - self._told_at >= _QUIET_S:
            self._told_at = now
            sys.stderr.write(printable(f"reading     {name}: {rows:,} rows so far") + "\n")
