"""Writes the files of a new job on rows, read back as `hekat run` would before they have their place."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from hekat.job.horizontal.job_file import load_job
from hekat.job.horizontal.site_check import check_site_allows
from hekat.job.horizontal_trees.job_file import load_row_trees_job
from hekat.job.horizontal_trees.site_check import check_site_allows_row_trees
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
    return write_files(folder, {**files, **(beside or {})}, _CHECKS[job.protocol])


def _check(folder: Path) -> None:
    check_site_allows(load_site(folder / SITE_FILE), load_job(folder / JOB_FILE))


def _check_trees(folder: Path) -> None:
    check_site_allows_row_trees(load_site(folder / SITE_FILE), load_row_trees_job(folder / JOB_FILE))


_CHECKS: Mapping[str, Callable[[Path], None]] = {"horizontal": _check, "horizontal_trees": _check_trees}
