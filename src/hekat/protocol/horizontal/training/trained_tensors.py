"""Which of a model's tensors a job trains and sends: weights, moved by an optimiser, and statistics, averaged."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hekat.errors import InputError
from hekat.model import Model
from hekat.protocol.secure_sum.streamed_tensor import Tensors
from hekat.select_names import select_names

CONTROL = "control/"
"""What the control variate of a tensor is called where both travel in one update."""


@dataclass(frozen=True)
class TrainedTensors:
    """Names in the model's order. Tensors in neither stay at their first value, at all parties alike.

    `non_negative` are statistics that have no meaning below zero.
    """

    weights: tuple[str, ...]
    statistics: tuple[str, ...] = ()
    non_negative: frozenset[str] = frozenset()

    @property
    def names(self) -> tuple[str, ...]:
        return (*self.weights, *self.statistics)

    @classmethod
    def of(cls, model: Model, patterns: tuple[str, ...] = ()) -> TrainedTensors:
        """The tensors of `model` that are not frozen and match one of the shell patterns; all of them without any.

        Raises InputError for a pattern that matches nothing, and where no weight is left to train.
        """
        free = tuple(name for name in model.parameter_shapes if name not in model.frozen)
        names = select_names(free, patterns)
        trained = cls(
            weights=tuple(name for name in names if name not in model.averaged),
            statistics=tuple(name for name in names if name in model.averaged),
            # Models without such tensors need not name them.
            non_negative=frozenset(names) & getattr(model, "non_negative", frozenset()),
        )
        if not trained.weights:
            raise InputError(
                "there are no weights to train",
                expected="at least one tensor that is trained",
                got=f"statistics alone: {', '.join(names)}" if names else "a model whose tensors are all frozen",
                cure="name weights in model.parameters" if patterns else "leave some of the model's tensors unfrozen",
            )
        return trained

    def update_like(self, model: Model, *, has_control: bool) -> Tensors:
        """Zeros in the names and shapes of one party's update, with or without changes of control variates."""
        shapes = model.parameter_shapes
        like = {name: np.zeros(shapes[name]) for name in self.names}
        if has_control:
            like.update({f"{CONTROL}{name}": np.zeros(shapes[name]) for name in self.weights})
        return like
