"""What a party keeps on disk of sums that were altered, so that it answers to one such sum in a job and to no second.

Whether an altered sum opens may hang on what the updates are, so each answer can be a bit about them. A run that is
resumed would otherwise answer again. The file is `hekat altered sums 1` and a line "JOB STEP" for each such sum, the
job's digest in hex; without one there was none. It is read before a run begins and written before a party leaves one.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

from hekat.errors import StateError
from hekat.state.atomic_file import overwrite_file, replace_file
from hekat.state.disk_errors import disk_errors_as_state_errors, read_file

ALTERED_FILE = "altered.record"
_TITLE = "hekat altered sums 1"
_LINE = re.compile(r"[0-9a-f]{64} \S+")


class AlteredRecord:
    """The file at `path`, which need not be there. Not `durable`: only for jobs that end with the process."""

    def __init__(self, path: Path, *, durable: bool = True) -> None:
        self._path = path
        self._write = replace_file if durable else overwrite_file

    def check(self, job_digest: bytes) -> None:
        """Raise StateError where a sum of this job was altered before, or the file cannot be read."""
        for line in self._lines():
            noted, step = line.split(" ")
            if noted == job_digest.hex():
                raise StateError(
                    f"a sum of this job was altered in an earlier run, in {step}",
                    expected="a job of which no sum was altered",
                    got=f"the note of it in {self._path}",
                    cure="compare that run's ledgers with those of the aggregator and the other parties. A new job is "
                    "safe to begin once the cause is gone; to go on with this one all the same, remove the file: each "
                    "altered sum may tell whoever altered it one more bit of the updates",
                )

    def note(self, job_digest: bytes, step: str) -> None:
        """Note it durably. Raises StateError."""
        lines = [_TITLE, *self._lines(), f"{job_digest.hex()} {step}"]
        self._write(self._path, "".join(f"{line}\n" for line in lines).encode())

    def _lines(self) -> list[str]:
        with disk_errors_as_state_errors(f"{self._path} cannot be read"):
            if not os.path.lexists(self._path):
                return []
        data = read_file(self._path)
        title, *lines = data.decode(errors="replace").splitlines() or [""]
        if title != _TITLE or not data.endswith(b"\n") or not all(_LINE.fullmatch(line) for line in lines):
            raise StateError(
                f"the note of altered sums {self._path} is damaged",
                expected="the file as it was written",
                got=f"{len(data)} bytes that are no such note",
                cure="put the state folder back as the last run left it; else begin a new job",
            )
        return lines
