"""Writes a new horizontal job's files, read back as `hekat run` would before they have their place."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from hekat.job.horizontal.job_file import load_job
from hekat.job.horizontal.site_check import check_site_allows
from hekat.job.new.example_rows import example_files
from hekat.job.new.job_template import job_text
from hekat.job.new.new_job import NET_MODULE, NewJob
from hekat.job.new.site_template import site_text
from hekat.job.new.starter_net import STARTER_NET
from hekat.job.new.write_files import JOB_FILE, SITE_FILE, write_files
from hekat.job.site_file import load_site


def write_job(folder: Path, job: NewJob, beside: Mapping[str, bytes] | None = None) -> list[Path]:
    """Write job.toml, site.toml, starting code or an example's data, and what is to lie `beside` them by name, into
    `folder`; the paths of all.

    Raises StateError as `write_files`, and the error of the job or site file that the choices make, such as a name that
    cannot be one; then nothing is written.
    """
    files = {JOB_FILE: job_text(job).encode(), SITE_FILE: site_text(job).encode()}
    if job.model == "torch":
        files[f"{NET_MODULE}.py"] = STARTER_NET.encode()
    if job.is_example:
        files |= example_files(job)
    return write_files(folder, {**files, **(beside or {})}, _check)


def _check(folder: Path) -> None:
    check_site_allows(load_site(folder / SITE_FILE), load_job(folder / JOB_FILE))
