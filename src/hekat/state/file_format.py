"""The formats of a kind of file that this release reads, the release that introduced each, and the cure for any other.

A format gets a new number where a reader would misread files of the old one. An added entry whose default keeps the
meaning of older files needs no new number (docs/decisions/0028-formats-of-files.md).
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version

from hekat.errors import HekatError


@dataclass(frozen=True)
class FileFormat:
    """The formats of one kind of file: 1 up to the newest, which is written. Number n was new in `releases[n - 1]`.

    `oldest` is the oldest number that this release still reads.
    """

    kind: str
    releases: tuple[str, ...]
    oldest: int = 1

    @property
    def newest(self) -> int:
        return len(self.releases)

    def describe(self) -> str:
        """What is read and written, for people."""
        return f"reads format {self._read}, writes {self.newest} (new in hekat {self.releases[-1]})"

    def check(self, found: object, where: str, error: type[HekatError]) -> int:
        """`found`, as the number of a format that this release reads. Raises `error`, with the cure, for any other."""
        if type(found) is int and self.oldest <= found <= self.newest:
            return found
        raise error(
            f"{where} has another format",
            expected=f"format {self._read}, which hekat {this_release()} reads",
            got=f"format {found}"[:40] if type(found) in (int, str, float) else "no number",
            cure=self._cure(found),
        )

    @property
    def _read(self) -> str:
        return f"{self.oldest} to {self.newest}" if self.oldest < self.newest else f"{self.newest}"

    def _cure(self, found: object) -> str:
        if type(found) is int and found > self.newest:
            return "a newer release wrote it: upgrade with pip install --upgrade hekat"
        if type(found) is int and 1 <= found < self.oldest:
            return f"use hekat {self.releases[self.oldest - 1]}, which reads it and writes format {self.oldest}"
        return f"check the file: a {self.kind} says a whole number from 1"


def this_release() -> str:
    """Hekat's version."""
    try:
        return version("hekat")
    except PackageNotFoundError:
        return "0+source"
