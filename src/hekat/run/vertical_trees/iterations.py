"""The steps of a training of trees, from which its parties resume: iterations, of one tree or one for each class."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from hekat.protocol.vertical_trees.party_run import TreeState
from hekat.run.vertical.checkpoint_files import CheckpointForm, PartyCheckpoint
from hekat.run.vertical.steps import TrainingSteps
from hekat.run.vertical_trees.load_inputs import TreesInputs
from hekat.run.vertical_trees.part_file import TREE_PARTS

Arrays = Mapping[str, npt.NDArray[Any]]
_VALIDATION_LOSSES, _MODEL_ID = "state/validation_losses", "state/model_id"


@dataclass(frozen=True)
class SavedIteration:
    """A party's state as a checkpoint has it: all that is no loss of training rows among its arrays."""

    arrays: Arrays = field(repr=False)
    iterations_done: int
    finished: bool
    losses: tuple[float, ...]

    @classmethod
    def of(cls, state: TreeState) -> SavedIteration:
        """The state of a party that an iteration ended with."""
        more: dict[str, npt.NDArray[Any]] = {
            _VALIDATION_LOSSES: np.asarray(state.validation_losses, np.float64),
            _MODEL_ID: np.frombuffer(state.model_id.encode(), np.uint8),
        }
        return cls({**state.arrays, **more}, state.trees_done, state.finished, state.losses)

    def restore(self) -> TreeState:
        """A state of one's own: a party changes its arrays by itself."""
        arrays = {name: values.copy() for name, values in self.arrays.items()}
        validation_losses = tuple(arrays.pop(_VALIDATION_LOSSES, np.zeros(0)).tolist())
        model_id = arrays.pop(_MODEL_ID, np.zeros(0, np.uint8)).tobytes().decode("ascii", "replace")
        return TreeState(arrays, self.iterations_done, self.finished, self.losses, validation_losses, model_id)


IterationCheckpoint = PartyCheckpoint[SavedIteration]


def _may_hold(values: npt.NDArray[Any]) -> bool:
    """Finite numbers, or whole ones of bins and nodes."""
    return values.dtype.kind in "iub" or (values.dtype == np.float64 and bool(np.isfinite(values).all()))


ITERATIONS: Final = CheckpointForm("iteration", lambda state: state.iterations_done, SavedIteration, _may_hold, True)


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
