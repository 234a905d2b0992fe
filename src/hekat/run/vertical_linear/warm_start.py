"""A job that begins with the weights of an earlier run: each party's from its own part, checked before all else."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy.typing as npt

from hekat.disk_errors import read_file
from hekat.errors import InputError, StateError
from hekat.job.vertical_linear.job_file import PROTOCOL
from hekat.protocol.vertical_linear.warm_start import check_warm_start
from hekat.run.vertical_linear.load_inputs import VerticalInputs
from hekat.run.vertical_linear.part_file import PARTS
from hekat.state import is_run_id
from hekat.summary.summary_format import SUMMARY_FILE

Arrays = Mapping[str, npt.NDArray[Any]]


@dataclass(frozen=True)
class WarmStart:
    """The run that is started from, and each party's weights as its part has them, by party: ModelPart.arrays."""

    run_id: str
    arrays: Mapping[str, Arrays] = field(repr=False)


def load_warm_start(run_folder: Path, inputs: VerticalInputs) -> WarmStart:
    """What the parties of a loaded job start from; nothing is written or sent.

    Raises StateError where `run_folder` is not of a finished vertical run or its parts are not whole, InputError where
    they are of another form, task, classes, parties or columns than the job's.
    """
    run_id = _run_id_of(run_folder)
    saved = PARTS.load_all(run_folder)
    settings = inputs.job.settings
    for one in saved.values():
        # There is no table for a part of other parties; it is refused before its columns are checked.
        table = inputs.tables.get(one.part.party)
        columns = () if table is None else table.feature_names
        check_warm_start(one.part, settings, columns, begin_anew="leave out --start-from")
    return WarmStart(run_id, {party: one.part.arrays for party, one in saved.items()})


def refuse_two_beginnings(resume_from: Path | None, start_from: Path | None) -> None:
    """Raise InputError where both are given: what is resumed has begun already."""
    if resume_from is not None and start_from is not None:
        raise InputError(
            "--resume continues a run, so it cannot also start from another",
            expected="--start-from or --resume",
            got="both",
            cure="leave one of them out; a run that was started from another is resumed by --resume alone",
        )


def _run_id_of(run_folder: Path) -> str:
    path = run_folder / SUMMARY_FILE
    if not path.exists():
        raise StateError(
            f"there is no finished run in {run_folder}",
            expected=f"the folder of a vertical regression that ended, with its {SUMMARY_FILE}",
            got=f"no {SUMMARY_FILE}",
            cure="check the path; if the run stopped early, let it end first with: hekat run JOB --resume RUN",
        )
    protocol, run_id = _read_head(path)
    if protocol != PROTOCOL:
        raise StateError(
            f"the run in {run_folder} has no parts of a model",
            expected=f"a run of protocol '{PROTOCOL}'",
            got=f"'{protocol}'",
            cure="name a run of a vertical regression, or leave out --start-from",
        )
    return run_id


def _read_head(path: Path) -> tuple[str, str]:
    """Protocol and run id of a summary; a horizontal run's summary names no protocol."""
    try:
        summary = json.loads(read_file(path))
        protocol, run_id = summary.get("protocol", "horizontal"), summary["run_id"]
    except (ValueError, RecursionError, AttributeError, KeyError, TypeError):
        protocol, run_id = "", ""
    if not is_run_id(run_id) or protocol not in ("horizontal", "psi", PROTOCOL):
        raise StateError(
            f"{path} is damaged or was not written by Hekat",
            expected="a summary with the run's id and protocol",
            got="others",
            cure="restore it from a copy, or start from another run",
        )
    return protocol, run_id
