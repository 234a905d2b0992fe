"""The steps of a vertical regression, from which its parties resume: epochs."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import numpy.typing as npt

from hekat.protocol.vertical_linear.party_run import PartState
from hekat.run.vertical.checkpoint_files import CheckpointForm, PartyCheckpoint, is_finite_float
from hekat.run.vertical.steps import TrainingSteps
from hekat.run.vertical_linear.load_inputs import VerticalInputs
from hekat.run.vertical_linear.part_file import PARTS

EpochCheckpoint = PartyCheckpoint[PartState]


def _may_hold(values: npt.NDArray[Any]) -> bool:
    """Finite numbers, or shares of them."""
    return is_finite_float(values) or values.dtype == np.uint64


EPOCHS: Final = CheckpointForm("epoch", lambda state: state.epochs_done, PartState, _may_hold)


def steps_of_job(inputs: VerticalInputs) -> TrainingSteps:
    """The epochs of the job that `inputs` were loaded for."""
    job = inputs.job
    return TrainingSteps(
        job=job,
        form=EPOCHS,
        most=job.settings.training.epochs,
        number_of=lambda record: int(record.epoch),
        save_part=lambda folder, part: PARTS.save(folder, job, part, inputs.columns[part.party]),
    )
