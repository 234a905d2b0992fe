"""A user's folder, in which commands are called as a user calls them, and counted."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

import pytest

COMMAND_LIMIT_S = 600


@dataclass
class Day:
    """What a user does in a folder: `hekat` calls, which are counted as `commands`, and edits of files."""

    folder: Path
    commands: list[str] = field(default_factory=list)
    edits: int = 0

    def hekat(self, *arguments: str, code: int = 0) -> str:
        """What one call prints, on both streams; the exit code must be `code`."""
        self.commands.append(" ".join(arguments))
        done = subprocess.run(
            [sys.executable, "-m", "hekat.cli.main", *arguments],
            cwd=self.folder,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=COMMAND_LIMIT_S,
            check=False,
        )
        print(f"$ hekat {self.commands[-1]}\n{done.stdout}")
        assert done.returncode == code, f"hekat {self.commands[-1]} ended with {done.returncode}: {done.stdout}"
        return done.stdout

    def edit(self, name: str, old: str, new: str) -> None:
        """One edit of a file that the commands wrote."""
        path = self.folder / name
        text = path.read_text(encoding="utf-8")
        assert text.count(old) == 1, f"{name} has {old!r} {text.count(old)} times"
        path.write_text(text.replace(old, new), encoding="utf-8")
        self.edits += 1

    def last_run(self) -> Path:
        """The folder of the newest run."""
        return max((self.folder / "runs").iterdir(), key=lambda path: path.stat().st_mtime_ns)


@pytest.fixture
def day(tmp_path: Path) -> Day:
    return Day(tmp_path)
