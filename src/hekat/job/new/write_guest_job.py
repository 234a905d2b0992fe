"""Writes a new job's files of a guest and its hosts, read back as `hekat run` would before they have their place."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from hekat.job.new.guest_job_template import guest_job_text
from hekat.job.new.guest_site_template import guest_site_text
from hekat.job.new.new_guest_job import NewGuestJob
from hekat.job.new.write_files import JOB_FILE, SITE_FILE, write_files
from hekat.job.psi.job_file import load_intersection_job
from hekat.job.psi.site_check import check_site_allows_intersection
from hekat.job.site_file import load_site
from hekat.job.vertical_linear.job_file import load_vertical_job
from hekat.job.vertical_linear.site_check import check_site_allows_vertical
from hekat.job.vertical_network.job_file import load_network_job
from hekat.job.vertical_network.site_check import check_site_allows_network
from hekat.job.vertical_trees.job_file import load_trees_job
from hekat.job.vertical_trees.site_check import check_site_allows_trees


def write_guest_job(folder: Path, job: NewGuestJob) -> list[Path]:
    """Write job.toml and site.toml into `folder`; the paths of both.

    Raises StateError as `write_files`, and the error of the job or site file that the choices make, such as a name that
    cannot be one; then nothing is written.
    """
    files = {JOB_FILE: guest_job_text(job).encode(), SITE_FILE: guest_site_text(job).encode()}
    return write_files(folder, files, _CHECKS[job.protocol])


def _check_vertical(folder: Path) -> None:
    check_site_allows_vertical(load_site(folder / SITE_FILE), load_vertical_job(folder / JOB_FILE))


def _check_intersection(folder: Path) -> None:
    check_site_allows_intersection(load_site(folder / SITE_FILE), load_intersection_job(folder / JOB_FILE))


def _check_trees(folder: Path) -> None:
    check_site_allows_trees(load_site(folder / SITE_FILE), load_trees_job(folder / JOB_FILE))


def _check_network(folder: Path) -> None:
    check_site_allows_network(load_site(folder / SITE_FILE), load_network_job(folder / JOB_FILE))


_CHECKS: Mapping[str, Callable[[Path], None]] = {
    "vertical_linear": _check_vertical,
    "vertical_trees": _check_trees,
    "vertical_network": _check_network,
    "psi": _check_intersection,
}
