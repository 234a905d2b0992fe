"""The folder of one run, runs/<id>/, for its owner alone (mode 0700), made once and never written over."""

from __future__ import annotations

import re
import secrets
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeGuard

from hekat.atomic_file import sync_folder
from hekat.disk_errors import disk_errors_as_state_errors
from hekat.errors import StateError

_MAX_ATTEMPTS = 16
_MODE = 0o700
_RUN_ID = re.compile(r"[0-9]{8}T[0-9]{6}Z-[0-9a-f]{6}")


@dataclass(frozen=True)
class RunDirectory:
    """`run_id` is the folder's name: UTC time to the second and six random hexadecimal digits."""

    run_id: str
    path: Path


def new_run_id(now: datetime | None = None) -> str:
    """A fresh id: UTC time (of `now`, else the present) to the second, and six random hexadecimal digits."""
    moment = (now or datetime.now(UTC)).astimezone(UTC)
    return f"{moment:%Y%m%dT%H%M%SZ}-{secrets.token_hex(3)}"


def cure_of_parent(folder: Path, otherwise: str) -> str:
    """The cure where `folder` is given in place of a run's: the newest of the runs in it, or `otherwise`."""
    try:
        runs = sorted(path.name for path in folder.iterdir() if is_run_id(path.name))
    except OSError:
        runs = []
    return f"give one of the runs in it, such as the newest: {folder / runs[-1]}" if runs else otherwise


def create_run_directory(root: Path, *, now: datetime | None = None) -> RunDirectory:
    """A new, empty folder under `root`, which is made where it is missing. Raises StateError with the cure.

    `now` (with a time zone) is the time in the id; the present time where None.
    """
    with disk_errors_as_state_errors(f"no run folder can be made in {root}"):
        root.mkdir(parents=True, exist_ok=True)
        for _ in range(_MAX_ATTEMPTS):
            run_id = new_run_id(now)
            path = root / run_id
            try:
                path.mkdir(_MODE)
            except FileExistsError:
                continue
            sync_folder(root)
            return RunDirectory(run_id, path)
    raise StateError(
        f"no run folder can be made in {root}", expected="a name that is free", cure="clear out the folder"
    )


def create_named_run_directory(root: Path, run_id: str) -> RunDirectory:
    """As `create_run_directory`, with an id that the run already has elsewhere.

    Raises StateError for a malformed id, and where the folder exists already or cannot be made.
    """
    if not is_run_id(run_id):
        raise StateError(
            "the run has a name that is no run id",
            expected="UTC time and six hexadecimal digits",
            got="other text",
            cure="find out who serves the run's relay",
        )
    path = root / run_id
    with disk_errors_as_state_errors(f"no run folder can be made in {root}"):
        root.mkdir(parents=True, exist_ok=True)
        try:
            path.mkdir(_MODE)
        except FileExistsError:
            raise StateError(
                f"there is a folder {path} already",
                expected="a new folder for the run",
                got="one of that name",
                cure="give every role of a run a folder of its own with --runs",
            ) from None
        sync_folder(root)
    return RunDirectory(run_id, path)


def is_run_id(value: Any) -> TypeGuard[str]:
    """Whether `value`, read from a file that anybody can write, is such an id."""
    return isinstance(value, str) and _RUN_ID.fullmatch(value) is not None
