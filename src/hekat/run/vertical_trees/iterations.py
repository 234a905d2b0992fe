"""The steps of a training of trees, from which its parties resume: iterations, of one tree or one for each class."""

from __future__ import annotations

from typing import Final

from hekat.run.vertical.checkpoint_files import CheckpointForm, PartyCheckpoint
from hekat.run.vertical.saved_state import SavedState, is_number
from hekat.run.vertical.steps import TrainingSteps
from hekat.run.vertical_trees.load_inputs import TreesInputs
from hekat.run.vertical_trees.part_file import TREE_PARTS

IterationCheckpoint = PartyCheckpoint[SavedState]
ITERATIONS: Final = CheckpointForm("iteration", lambda state: state.steps_done, SavedState, is_number, True)


def steps_of_trees(inputs: TreesInputs) -> TrainingSteps:
    """The iterations of the job that `inputs` were loaded for."""
    job = inputs.job
    return TrainingSteps(
        job=job,
        form=ITERATIONS,
        most=job.settings.training.max_iter,
        number_of=lambda record: int(record.iteration),
        save_part=lambda folder, part: TREE_PARTS.save(folder, job, part, inputs.columns[part.party]),
    )
