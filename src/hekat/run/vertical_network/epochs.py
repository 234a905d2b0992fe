"""The steps of a training of a split network, from which its parties resume: epochs."""

from __future__ import annotations

from typing import Final

from hekat.run.vertical.checkpoint_files import CheckpointForm, PartyCheckpoint
from hekat.run.vertical.saved_state import SavedState, is_number
from hekat.run.vertical.steps import TrainingSteps
from hekat.run.vertical_network.load_inputs import NetworkInputs
from hekat.run.vertical_network.part_file import NETWORK_PARTS

NetworkCheckpoint = PartyCheckpoint[SavedState]
NETWORK_EPOCHS: Final = CheckpointForm("epoch", lambda state: state.steps_done, SavedState, is_number)


def steps_of_network(inputs: NetworkInputs) -> TrainingSteps:
    """The epochs of the job that `inputs` were loaded for."""
    job = inputs.job
    return TrainingSteps(
        job=job,
        form=NETWORK_EPOCHS,
        most=job.settings.training.epochs,
        number_of=lambda record: int(record.epoch),
        save_part=lambda folder, part: NETWORK_PARTS.save(folder, job, part, inputs.columns[part.party]),
    )
