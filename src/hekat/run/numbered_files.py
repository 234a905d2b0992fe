"""Names of the files that each party writes for every round or epoch, such as hub-round-7.npz."""

from __future__ import annotations

import re
from pathlib import Path

_MOST_DIGITS = 9


def numbered_path(folder: Path, party: str, word: str, number: int) -> Path:
    """Where `party`'s file of round or epoch `number` lies; `word` says which of the two it is."""
    return folder / f"{party}-{word}-{number}.npz"


def numbers_of(folder: Path, party: str, word: str) -> list[int]:
    """The rounds or epochs that there are files of, in their order. Raises OSError where the folder cannot be read."""
    if not folder.is_dir():
        return []
    pattern = re.compile(rf"{re.escape(party)}-{word}-(\d{{1,{_MOST_DIGITS}}})\.npz")
    return sorted(int(found[1]) for path in folder.iterdir() if (found := pattern.fullmatch(path.name)))
