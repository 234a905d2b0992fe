"""The folder of an earlier, finished run of columns, whose model a training begins with."""

from __future__ import annotations

import json
from pathlib import Path

from hekat.disk_errors import read_file
from hekat.errors import InputError, StateError
from hekat.job.job_head import PLAYED_PROTOCOLS
from hekat.state import is_run_id
from hekat.summary.summary_format import SUMMARY_FILE


def refuse_two_beginnings(resume_from: Path | None, start_from: Path | None) -> None:
    """Raise InputError where both are given: what is resumed has begun already."""
    if resume_from is not None and start_from is not None:
        raise InputError(
            "--resume continues a run, so it cannot also start from another",
            expected="--start-from or --resume",
            got="both",
            cure="leave one of them out; a run that was started from another is resumed by --resume alone",
        )


def read_run_id(run_folder: Path, protocol: str, what: str) -> str:
    """The id of the finished run in `run_folder`; `what` names runs of `protocol`, as in "a vertical regression".

    Raises StateError where there is no such run, or its summary is damaged.
    """
    path = run_folder / SUMMARY_FILE
    if not path.exists():
        raise StateError(
            f"there is no finished run in {run_folder}",
            expected=f"the folder of {what} that ended, with its {SUMMARY_FILE}",
            got=f"no {SUMMARY_FILE}",
            cure="check the path; if the run stopped early, let it end first with: hekat run JOB --resume RUN",
        )
    found, run_id = _read_head(path)
    if found != protocol:
        raise StateError(
            f"the run in {run_folder} has no parts of a model of protocol '{protocol}'",
            expected=f"a run of protocol '{protocol}'",
            got=f"'{found}'",
            cure=f"name a run of {what}, or leave out --start-from",
        )
    return run_id


def _read_head(path: Path) -> tuple[str, str]:
    """Protocol and run id of a summary; a horizontal run's summary names no protocol."""
    try:
        summary = json.loads(read_file(path))
        protocol, run_id = summary.get("protocol", "horizontal"), summary["run_id"]
    except (ValueError, RecursionError, AttributeError, KeyError, TypeError):
        protocol, run_id = "", ""
    if not is_run_id(run_id) or protocol not in PLAYED_PROTOCOLS:
        raise StateError(
            f"{path} is damaged or was not written by Hekat",
            expected="a summary with the run's id and protocol",
            got="others",
            cure="restore it from a copy, or start from another run",
        )
    return protocol, run_id
