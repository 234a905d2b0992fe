"""The job whose models the tests of predictions read, and the columns of such a model."""

from __future__ import annotations

from pathlib import Path

from hekat.job.horizontal.job_file import Job, load_job

JOB = """format = 1
name = "clinics"
protocol = "horizontal"
parties = ["north", "east", "south"]
aggregator = "hub"
data = "visits"
classes = ["no", "yes"]
weight_max = 10
[columns.ward]
categories = ["in", "out"]
[columns.dose]
fill = 2.0
"""
COLUMNS = ("age", "dose", "ward=in", "ward=out")


def job_in(folder: Path, text: str = JOB) -> Job:
    """The job of that text, written into the folder."""
    (folder / "job.toml").write_text(text)
    return load_job(folder / "job.toml")
