"""A job that begins with the weights of an earlier run: each party's from its own part, checked before all else."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy.typing as npt

from hekat.job.vertical_linear.job_file import PROTOCOL
from hekat.protocol.vertical_linear.warm_start import check_warm_start
from hekat.run.vertical.earlier_run import read_run_id
from hekat.run.vertical_linear.load_inputs import VerticalInputs
from hekat.run.vertical_linear.part_file import PARTS

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
    run_id = read_run_id(run_folder, PROTOCOL, "a vertical regression")
    saved = PARTS.load_all(run_folder)
    settings = inputs.job.settings
    for one in saved.values():
        # There is no table for a part of other parties; it is refused before its columns are checked.
        table = inputs.tables.get(one.part.party)
        columns = () if table is None else table.feature_names
        check_warm_start(one.part, settings, columns, begin_anew="leave out --start-from")
    return WarmStart(run_id, {party: one.part.arrays for party, one in saved.items()})
