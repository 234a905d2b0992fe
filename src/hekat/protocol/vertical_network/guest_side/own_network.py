"""What the guest alone holds of the network: its bottom, its half of the interactive layer, and the top."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from hekat.model.small_products import multiply_columns, multiply_rows
from hekat.model.split import Bottom, TargetLoss, Top, TrainedTensors, make_loss
from hekat.protocol.vertical_network.fixed_point import FloatArray, check_all_finite
from hekat.protocol.vertical_network.model_part import INTERACTIVE, TOP, named, taken

WEIGHT, BIAS = "weight", "bias"
Arrays = Mapping[str, npt.NDArray[Any]]


class OwnNetwork:
    """Z = A_g W_g + b + Z_h -> activation -> top, moved by Adam; `bottom` is None at a guest without columns.

    A batch takes `forward`, `finish` and `backward` in this order.
    """

    def __init__(
        self,
        bottom: Bottom | None,
        top: Top,
        class_count: int | None,
        *,
        units: int,
        learning_rate: float,
        l2: float,
        seed: int,
        input_count: int,
    ) -> None:
        """`seed` is secret; `input_count` counts the inputs of the interactive layer at all parties."""
        self._bottom, self._top, self._l2 = bottom, top, l2
        width = 0 if bottom is None else bottom.width
        drawn = np.random.default_rng(seed).normal(scale=(2.0 / input_count) ** 0.5, size=(width, units))
        self._interactive = TrainedTensors({WEIGHT: drawn, BIAS: np.zeros(units)}, learning_rate)
        self.loss: TargetLoss = make_loss(class_count)
        self._features = self._slopes = np.zeros((0, 0))

    def forward(self, X: FloatArray) -> FloatArray:
        """A_g W_g + b of a batch of the guest's columns, (rows, k)."""
        self._features = np.zeros((len(X), 0)) if self._bottom is None else self._bottom.forward(X)
        return self._join(self._features)

    def finish(self, Z: FloatArray, targets: FloatArray) -> tuple[float, FloatArray]:
        """The mean loss of the batch by its outputs Z, and the slope of each row's loss by Z, (rows, k); the top
        moves."""
        outputs = self._top.forward(Z)
        loss = self.loss.loss(outputs, targets)
        gradient, self._slopes = self._top.backward(self.loss.slopes(outputs, targets) / len(Z))
        self._top.step(gradient)
        return loss, self._slopes * len(Z)

    def backward(self) -> None:
        """Move the guest's half of the interactive layer and its bottom."""
        weight = self._interactive.tensors[WEIGHT]
        moved = multiply_columns(self._features, self._slopes) + self._l2 * weight
        gradient = {WEIGHT: moved, BIAS: self._slopes.sum(axis=0)}
        if self._bottom is not None:
            self._bottom.step(self._bottom.backward(multiply_rows(self._slopes, weight.T)))
        self._interactive.step(gradient)

    def evaluate(self, X: FloatArray, hosts: FloatArray) -> FloatArray:
        """The outputs (rows, K) of rows outside training, from the guest's columns and the hosts' part of Z."""
        features = np.zeros((len(X), 0)) if self._bottom is None else self._bottom.evaluate(X)
        return self._top.evaluate(self._join(features) + hosts)

    def arrays(self, *, with_state: bool) -> dict[str, npt.NDArray[Any]]:
        """The tensors but the bottom's; with the optimisers' state where a training goes on."""
        interactive, top = self._interactive, self._top
        if with_state:
            return named(INTERACTIVE, interactive.state_arrays()) | named(TOP, top.state_arrays())
        return named(INTERACTIVE, interactive.arrays()) | named(TOP, top.arrays())

    def begin_from(self, arrays: Arrays) -> None:
        """Take over the arrays of an earlier state or part. Raises InputError for other shapes."""
        self._interactive.begin_from(taken(INTERACTIVE, arrays))
        self._top.begin_from(taken(TOP, arrays))

    def _join(self, features: FloatArray) -> FloatArray:
        check_all_finite("features of the guest", features, "correct its bottom, or lower training.learning_rate")
        tensors = self._interactive.tensors
        return multiply_rows(features, tensors[WEIGHT]) + tensors[BIAS]
