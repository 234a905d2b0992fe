"""The file summary.json and its format: what `hekat run` writes and `hekat report` reads."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from hekat.state import replace_file
from hekat.state.file_format import FileFormat

SUMMARY_FILE = "summary.json"
SUMMARY_FORMAT = FileFormat("summary", ("0.1.0",))


def write_summary(run_folder: Path, summary: Mapping[str, Any]) -> None:
    """Write summary.json, whole or not at all. Raises StateError."""
    content = json.dumps(summary, indent=1, allow_nan=False).encode()
    replace_file(run_folder / SUMMARY_FILE, content, mode=0o644)
