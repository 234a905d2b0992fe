"""A PyTorch module as a top: from the interactive layer's outputs to logits or numbers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from hekat.model.parameters import FloatArray, Parameters
from hekat.model.split.bottom import BottomTask
from hekat.model.split.module_bottom import PROBE_ROWS, ModuleBottom, ModuleWords
from hekat.model.split.top import MODULE, TopMaker, TopTask

_WORDS = ModuleWords(
    "top", "units", "outputs", "correct the module's last layer: one output, or one for each of three classes and more"
)


class ModuleTop:
    """The module takes Z itself: an activation of the interactive layer is its own first layer."""

    kind = MODULE

    def __init__(self, make_module: Callable[[], Any], task: TopTask) -> None:
        probe = np.random.default_rng(0).normal(size=(PROBE_ROWS, task.units))
        trained = BottomTask(probe, task.output_count, True, task.seed, task.learning_rate)
        self._module = ModuleBottom(make_module, trained, _WORDS)

    def forward(self, Z: FloatArray) -> FloatArray:
        return self._module.forward(Z)

    def backward(self, slopes: FloatArray) -> tuple[Parameters, FloatArray]:
        gradient = self._module.backward(slopes)
        return gradient, self._module.input_slopes

    def step(self, gradient: Parameters) -> None:
        self._module.step(gradient)

    def evaluate(self, Z: FloatArray) -> FloatArray:
        return self._module.evaluate(Z)

    def arrays(self) -> Parameters:
        return self._module.arrays()

    def state_arrays(self) -> Parameters:
        return self._module.state_arrays()

    def begin_from(self, arrays: Mapping[str, FloatArray]) -> None:
        self._module.begin_from(arrays)


def module_top(make_module: Callable[[], Any]) -> TopMaker:
    """The maker of tops from a function that returns a torch.nn.Module from (rows, units) to (rows, outputs)."""
    return lambda task: ModuleTop(make_module, task)
