"""The format of summary.json: what `hekat run` writes and `hekat report` reads."""

from __future__ import annotations

from hekat.state.file_format import FileFormat

SUMMARY_FILE = "summary.json"
SUMMARY_FORMAT = FileFormat("summary", ("0.1.0",))
