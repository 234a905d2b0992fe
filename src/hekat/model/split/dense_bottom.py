"""A dense network as a bottom: hidden layers and a last one, each with its activation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from hekat.model.check_rows import check_features
from hekat.model.dense_layers import DenseLayers, name_layers
from hekat.model.parameters import Features, FloatArray, Parameters
from hekat.model.split.bottom import BottomTask
from hekat.model.split.trained_tensors import TrainedTensors


class DenseBottom:
    """X -> activation(... activation(X W_1 + b_1) ...), in NumPy."""

    kind = "dense"
    trains = True

    def __init__(self, task: BottomTask) -> None:
        self.width = task.width
        self._columns = task.column_count
        layers = name_layers((task.column_count, *task.hidden, task.width))
        self._dense = DenseLayers(layers, task.activation, activates_last=True)
        self._moving = TrainedTensors(self._dense.draw(task.seed), task.learning_rate)
        self._values: Sequence[Features] = ()

    def forward(self, X: FloatArray) -> FloatArray:
        check_features(X, self._columns)
        self._values = self._dense.forward(self._moving.tensors, X)
        return self._values[-1]

    def backward(self, slopes: FloatArray) -> Parameters:
        gradient, _ = self._dense.backward(self._moving.tensors, self._values, slopes)
        return gradient

    def step(self, gradient: Parameters) -> None:
        self._moving.step(gradient)

    def evaluate(self, X: FloatArray) -> FloatArray:
        check_features(X, self._columns)
        return self._dense.forward(self._moving.tensors, X)[-1]

    def arrays(self) -> Parameters:
        return self._moving.arrays()

    def state_arrays(self) -> Parameters:
        return self._moving.state_arrays()

    def begin_from(self, arrays: Mapping[str, FloatArray]) -> None:
        self._moving.begin_from(arrays)


def dense_bottom(task: BottomTask) -> DenseBottom:
    """Hekat's own bottom that trains."""
    return DenseBottom(task)
