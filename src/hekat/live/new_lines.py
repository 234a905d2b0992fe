"""Reads what was added to files of JSON lines since the last look; a file that is not there yet has no lines."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

MOST_BYTES = 4 << 20
"""Read of one file at one look: a follower that began late catches up in steps."""


class NewLines:
    """The lines of one file, which may lie at any of `places`: a run's end moves what its roles wrote."""

    def __init__(self, places: Sequence[Path]) -> None:
        self._places = tuple(places)
        self._read = 0

    def look(self) -> Iterator[Mapping[str, Any]]:
        """Each whole new line once and in order; lines that are no JSON object are left out."""
        for place in self._places:
            try:
                with place.open("rb") as file:
                    file.seek(self._read)
                    added = file.read(MOST_BYTES)
            except OSError:
                continue
            whole, newline, _ = added.rpartition(b"\n")
            self._read += len(whole) + len(newline)
            for line in whole.splitlines():
                try:
                    content = json.loads(line)
                except (ValueError, RecursionError):
                    continue
                if isinstance(content, dict):
                    yield content
            return
