"""One party's own state from round to round: its control variate, and the remainder that its updates still owe.

It depends on that party's rows alone, so no shared checkpoint holds it.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from hekat.model.parameters import Shapes
from hekat.protocol.horizontal.settings import TrainingSettings
from hekat.protocol.horizontal.training.algorithms.algorithm import LocalWork
from hekat.protocol.horizontal.training.algorithms.scaffold import control_change, correction_of
from hekat.protocol.horizontal.training.trained_tensors import CONTROL, TrainedTensors
from hekat.protocol.secure_sum.streamed_tensor import Tensors


@dataclass(frozen=True)
class OwnState:
    """The state at the end of `round`, the last one whose sum holds the party's update; 0 before the first.

    `control` is c_i (`scaffold`), `owed` what clipping and rounding took from updates so far, and what was not sent of
    them (`error_feedback`, `keep`), both by the trained weights' names and empty where the job does not ask for them.
    """

    round: int = 0
    control: Tensors = field(default_factory=dict, repr=False)
    owed: Tensors = field(default_factory=dict, repr=False)

    def correction(self, shared: Tensors) -> Tensors | None:
        """c - c_i for the local steps; None where the job's algorithm has no control variates."""
        return correction_of(shared, self.control) if self.control else None

    def complete(self, work: LocalWork, shared: Tensors, learning_rate: float) -> Tensors:
        """The update to send: the work plus what is still owed, and the control variate's change beside it.

        Source of the first: Seide et al. 2014, section 3; Karimireddy et al. 2019, Algorithm 2.
        """
        update = {
            name: values + self.owed[name] if name in self.owed else values for name, values in work.update.items()
        }
        if self.control:
            update.update(control_change(work.update, shared, work.step_count, learning_rate))
        return update

    def after(self, number: int, meant: Tensors, sent: Tensors) -> OwnState:
        """The state after round `number`, in which `sent` is what the sum holds of the update `meant`."""
        return OwnState(
            number,
            control={name: values + sent[f"{CONTROL}{name}"] for name, values in self.control.items()},
            owed={name: meant[name] - sent[name] for name in self.owed},
        )


def own_state_shapes(trained: TrainedTensors, shapes: Shapes, training: TrainingSettings) -> tuple[Shapes, Shapes]:
    """The shapes of `control` and of `owed` in such a job."""
    weights = {name: shapes[name] for name in trained.weights}
    return weights if training.has_control else {}, weights if training.feeds_back else {}


def first_own_state(trained: TrainedTensors, shapes: Shapes, training: TrainingSettings) -> OwnState:
    """Zeros in those shapes."""
    control, owed = own_state_shapes(trained, shapes, training)
    return OwnState(0, *({name: np.zeros(shape) for name, shape in group.items()} for group in (control, owed)))
