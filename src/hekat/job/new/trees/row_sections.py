"""The sections of a new job of boosted trees across rows."""

from __future__ import annotations

from collections.abc import Sequence

from hekat.job.new.new_job import NewJob
from hekat.job.new.template_lines import setting
from hekat.job.new.trees.guest_sections import task_section, training_section


def row_tree_sections(job: NewJob, protection: Sequence[str]) -> list[list[str]]:
    """Every section below the top, with its defaults; `protection` are the lines of that section."""
    held_out = "part of each party's rows to measure on, to end training by, and not to train on, up to 0.9; 0: none"
    return [
        task_section(job.classes),
        training_section(job.rounds),
        ["[validation]", setting("hold_out", job.hold_out, 0.0, held_out)],
        list(protection),
    ]
