"""The checkpoints of a horizontal job by their rounds."""

from __future__ import annotations

import re
from pathlib import Path

from hekat.job.horizontal.job_file import Job
from hekat.run.rows.saved_rounds import SavedRounds
from hekat.state import load_checkpoint

_ROUND_END = re.compile(r"round-(\d{1,9})/end")


def saved_rounds_of(job: Job) -> SavedRounds:
    """How the job's checkpoints are read."""
    settings = job.settings

    def is_over(path: Path) -> bool:
        last = load_checkpoint(path, job.digest)
        return bool(last.codec_state.get("finished")) or last.rounds_done >= settings.training.round_count

    return SavedRounds(
        "round",
        settings.aggregator,
        settings.parties,
        _ROUND_END,
        lambda path: load_checkpoint(path, job.digest).rounds_done,
        is_over,
    )
