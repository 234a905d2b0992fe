"""Tensors that move by Adam, with the optimiser's state, as one set of named arrays."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from hekat.model.optimisers import Adam
from hekat.model.parameters import FloatArray, Parameters, check_same_shapes, shapes_of

OPTIMISER: Final = "optimiser/"


class TrainedTensors:
    """Named float64 tensors and their optimiser, Adam."""

    def __init__(self, tensors: Parameters, learning_rate: float) -> None:
        self._optimiser = Adam(learning_rate)
        self.tensors = tensors
        self._state = self._optimiser.init_state(tensors)

    def step(self, gradient: Parameters) -> None:
        """Move against the gradient. Raises InputError where names or shapes differ."""
        self.tensors, self._state = self._optimiser.step(self.tensors, gradient, self._state)

    def arrays(self) -> Parameters:
        """Copies of the tensors."""
        return {name: values.copy() for name, values in self.tensors.items()}

    def state_arrays(self) -> Parameters:
        """Copies of the tensors, and of the optimiser's state under names that begin with OPTIMISER."""
        return self.arrays() | {OPTIMISER + name: values.copy() for name, values in self._state.items()}

    def begin_from(self, arrays: Mapping[str, FloatArray]) -> None:
        """Take over `arrays()` (the optimiser begins anew) or `state_arrays()`. Raises InputError for others."""
        tensors = {name: values.copy() for name, values in arrays.items() if not name.startswith(OPTIMISER)}
        check_same_shapes("tensors", tensors, shapes_of(self.tensors))
        state = {
            name.removeprefix(OPTIMISER): values.copy() for name, values in arrays.items() if name.startswith(OPTIMISER)
        }
        if state:
            check_same_shapes("optimiser state", state, shapes_of(self._state))
        self.tensors, self._state = tensors, state or self._optimiser.init_state(tensors)
