"""Writes the files of a new job into a folder, all of them or none, and over nothing."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path

from hekat.disk_errors import disk_errors_as_state_errors
from hekat.errors import StateError

JOB_FILE, SITE_FILE = "job.toml", "site.toml"


def write_files(folder: Path, files: Mapping[str, bytes], check: Callable[[Path], None]) -> list[Path]:
    """Write `files`, by their names, into `folder`; the paths of all.

    `check` is called with a folder that holds them all before any has its place. Raises StateError where one of the
    files is there already or the disk does not take them, and what `check` raises; then nothing is written.
    """
    _refuse_what_is_there([folder / name for name in files])
    with disk_errors_as_state_errors(f"{folder} cannot be written to"):
        made = _make_folder(folder)
    try:
        with (
            disk_errors_as_state_errors(f"{folder} cannot be written to"),
            tempfile.TemporaryDirectory(prefix=".hekat-init.", dir=folder) as staged,
        ):
            return _write_all(folder, Path(staged), files, check)
    except BaseException:
        for path in reversed(made):
            shutil.rmtree(path, ignore_errors=True)
        raise


def _refuse_what_is_there(paths: list[Path]) -> None:
    for path in paths:
        if os.path.lexists(path):
            raise StateError(
                f"{path} is already there and is not overwritten",
                expected=f"a folder without {', '.join(entry.name for entry in paths)}",
                cure="choose another folder, or move the old file away first",
            )


def _make_folder(folder: Path) -> list[Path]:
    """The folders that were made on the way to `folder`, itself last."""
    missing = [path for path in (folder, *folder.parents) if not path.exists()]
    for path in reversed(missing):
        path.mkdir()
    return missing[::-1]


def _write_all(folder: Path, staged: Path, files: Mapping[str, bytes], check: Callable[[Path], None]) -> list[Path]:
    """Write aside, read back as `hekat run` would, then give every file its name."""
    for name, data in files.items():
        (staged / name).parent.mkdir(parents=True, exist_ok=True)
        (staged / name).write_bytes(data)
    check(staged)
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
