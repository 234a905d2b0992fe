"""Where run folders are made, unless a call says otherwise."""

from __future__ import annotations

from pathlib import Path
from typing import Final

RUNS_FOLDER: Final = Path("runs")
