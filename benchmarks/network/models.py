"""BatchCrypt's three models (ATC 2020, section 6.1) by the shapes of their tensors, as `training.models` makes them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class ModelShapes:
    """One model: what it is called, and its tensors' sizes in order."""

    name: str
    sizes: tuple[int, ...]

    @property
    def value_count(self) -> int:
        return sum(self.sizes)


def _dense(inputs: int, outputs: int) -> tuple[int, int]:
    return inputs * outputs, outputs


def _convolution(inputs: int, outputs: int) -> tuple[int, int]:
    return inputs * outputs * 9, outputs


def _lstm(inputs: int, units: int) -> tuple[int, ...]:
    return 4 * units * inputs, 4 * units * units, 4 * units, 4 * units


def _joined(*layers: Sequence[int]) -> tuple[int, ...]:
    return tuple(size for layer in layers for size in layer)


FC = ModelShapes("FC, MNIST", _joined(_dense(784, 128), _dense(128, 10)))
CNN = ModelShapes(
    "AlexNet, CIFAR-10",
    _joined(
        _convolution(3, 48), _convolution(48, 128), _convolution(128, 192), _convolution(192, 160),
        _convolution(160, 128), _dense(512, 977), _dense(977, 10),
    ),
)  # fmt: skip
LSTM = ModelShapes(
    "LSTM, Shakespeare", _joined((math.prod((65, 64)),), _lstm(64, 565), _lstm(565, 565), _dense(565, 65))
)
MODELS = {"fc": FC, "cnn": CNN, "lstm": LSTM}
