"""The top of a split network: the interactive layer's activation, hidden layers, outputs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from hekat.model.dense_layers import Activation, DenseLayers, activate, activation_slope, name_layers
from hekat.model.parameters import Features, FloatArray, Parameters
from hekat.model.split.top import DENSE
from hekat.model.split.trained_tensors import TrainedTensors


class DenseTop:
    """Z (rows, units) -> outputs (rows, K), in NumPy, moved by Adam."""

    kind = DENSE

    def __init__(
        self,
        units: int,
        hidden: tuple[int, ...],
        output_count: int,
        *,
        activation: Activation,
        learning_rate: float,
        seed: int,
    ) -> None:
        self._activation: Activation = activation
        self._dense = DenseLayers(name_layers((units, *hidden, output_count)), activation)
        self._moving = TrainedTensors(self._dense.draw(seed), learning_rate)
        self._values: Sequence[Features] = ()

    def forward(self, Z: FloatArray) -> FloatArray:
        """The outputs of a batch in training."""
        self._values = self._dense.forward(self._moving.tensors, activate(Z, self._activation))
        return self._values[-1]

    def backward(self, slopes: FloatArray) -> tuple[Parameters, FloatArray]:
        """The gradient by every tensor, and by Z (rows, units), from the slopes by the last `forward`'s outputs."""
        gradient, to_inputs = self._dense.backward(self._moving.tensors, self._values, slopes, to_inputs=True)
        assert to_inputs is not None
        return gradient, np.asarray(to_inputs * activation_slope(self._values[0], self._activation))

    def step(self, gradient: Parameters) -> None:
        """Move the tensors against the gradient."""
        self._moving.step(gradient)

    def evaluate(self, Z: FloatArray) -> FloatArray:
        """The outputs of rows outside training."""
        return self._dense.forward(self._moving.tensors, activate(Z, self._activation))[-1]

    def arrays(self) -> Parameters:
        """The tensors."""
        return self._moving.arrays()

    def state_arrays(self) -> Parameters:
        """The tensors and the optimiser's state."""
        return self._moving.state_arrays()

    def begin_from(self, arrays: Mapping[str, FloatArray]) -> None:
        """Take over the arrays of an earlier top. Raises InputError for others."""
        self._moving.begin_from(arrays)
