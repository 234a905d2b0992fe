"""Writes a new job's files, all of them or none, and over nothing."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path

from hekat.errors import StateError
from hekat.job.example_rows import example_files
from hekat.job.job_file import load_job
from hekat.job.job_template import job_text
from hekat.job.new_job import NET_MODULE, NewJob
from hekat.job.site_file import load_site
from hekat.job.site_policy import check_site_allows
from hekat.job.site_template import site_text
from hekat.job.starter_net import STARTER_NET
from hekat.state.disk_errors import disk_errors_as_state_errors

JOB_FILE, SITE_FILE = "job.toml", "site.toml"


def write_job(folder: Path, job: NewJob) -> list[Path]:
    """Write job.toml, site.toml, and starting code or an example's data, into `folder`; the paths of all.

    Raises StateError where one of the files is there already or the disk does not take them, and the error of the job
    or site file that the choices make, such as a name that cannot be one; then nothing is written.
    """
    files = {JOB_FILE: job_text(job).encode(), SITE_FILE: site_text(job).encode()}
    if job.model == "torch":
        files[f"{NET_MODULE}.py"] = STARTER_NET.encode()
    if job.is_example:
        files |= example_files(job)
    _refuse_what_is_there([folder / name for name in files])
    with disk_errors_as_state_errors(f"{folder} cannot be written to"):
        made = _make_folder(folder)
    try:
        with (
            disk_errors_as_state_errors(f"{folder} cannot be written to"),
            tempfile.TemporaryDirectory(prefix=".hekat-init.", dir=folder) as staged,
        ):
            return _write_all(folder, Path(staged), files)
    except BaseException:
        for path in reversed(made):
            shutil.rmtree(path, ignore_errors=True)
        raise


def _refuse_what_is_there(paths: list[Path]) -> None:
    for path in paths:
        if os.path.lexists(path):
            raise StateError(
                f"{path} is already there and is not written over",
                expected=f"a folder without {', '.join(entry.name for entry in paths)}",
                cure="choose another folder, or move the old file away first",
            )


def _make_folder(folder: Path) -> list[Path]:
    """The folders that were made on the way to `folder`, itself last."""
    missing = [path for path in (folder, *folder.parents) if not path.exists()]
    for path in reversed(missing):
        path.mkdir()
    return missing[::-1]


def _write_all(folder: Path, staged: Path, files: Mapping[str, bytes]) -> list[Path]:
    """Write aside, read back as `hekat run` would, then give every file its name."""
    for name, data in files.items():
        (staged / name).parent.mkdir(parents=True, exist_ok=True)
        (staged / name).write_bytes(data)
    check_site_allows(load_site(staged / SITE_FILE), load_job(staged / JOB_FILE))
    named: list[Path] = []
    made: list[Path] = []
    try:
        for name in files:
            path = folder / name
            made += _make_folder(path.parent)
            path.hardlink_to(staged / name)
            named.append(path)
    except BaseException:
        for path in named:
            path.unlink()
        for path in reversed(made):
            path.rmdir()
        raise
    return named
