"""A party's note on disk about an altered sum, so that it answers only one such sum in a job, and no second one.

Whether an altered sum opens may depend on the updates, so each answer can tell a bit of them. Otherwise a resumed run
would answer again. There is one file for a job: `hekat altered sum 1`, a line "job DIGEST" in hex and a line "step
NAME"; without the file no sum was altered. A party reads it before a run begins, and writes it before it leaves one.
"""

from __future__ import annotations

import os
from pathlib import Path

from hekat.atomic_file import overwrite_file, replace_file
from hekat.disk_errors import disk_errors_as_state_errors, read_file
from hekat.errors import StateError

ALTERED_FILES = "altered-*.record"
_TITLE = "hekat altered sum 1"


class AlteredRecord:
    """One job's note in a state folder, which need not be there. Not `durable`: for jobs that end with the process."""

    def __init__(self, folder: Path, job_digest: bytes, *, durable: bool = True) -> None:
        self.path, self._job_digest = folder / ALTERED_FILES.replace("*", job_digest.hex()[:32]), job_digest
        self._write = replace_file if durable else overwrite_file

    def check(self) -> None:
        """Raise StateError where a sum of this job was altered before, or the file cannot be read."""
        with disk_errors_as_state_errors(f"{self.path} cannot be read"):
            if not os.path.lexists(self.path):
                return
        data = read_file(self.path)
        step = data.decode(errors="replace").removeprefix(self._text("")[:-1]).removesuffix("\n")
        if not step or self._text(step).encode() != data:
            raise StateError(
                f"the note of an altered sum {self.path} is damaged",
                expected="the file as it was written",
                got=f"{len(data)} bytes that are no such note",
                cure="put the state folder back as the last run left it; else begin a new job",
            )
        raise StateError(
            f"a sum of this job was altered in an earlier run, in {step}",
            expected="a job without an altered sum",
            got=f"the note of it in {self.path}",
            cure="compare that run's ledgers with the aggregator's and the other parties' ledgers. A new job is safe "
            f"to begin once the cause is gone; to go on with this one all the same, remove {self.path}, which belongs "
            "to this job alone: each altered sum may tell whoever altered it one more bit of the updates",
        )

    def note(self, step: str) -> None:
        """Note it durably. Raises StateError."""
        self._write(self.path, self._text(step).encode())

    def _text(self, step: str) -> str:
        return f"{_TITLE}\njob {self._job_digest.hex()}\nstep {step}\n"
