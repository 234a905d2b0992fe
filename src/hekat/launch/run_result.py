"""What a launched run leaves behind."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class RunResult:
    """Where the run lies and its summary; `hekat.report.open_run(folder)` shows it."""

    folder: Path
    summary: dict[str, Any] = field(repr=False)
