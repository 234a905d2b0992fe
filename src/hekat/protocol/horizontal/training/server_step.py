"""The server step, the same at every party: the mean of a round's updates moves the model.

With S the parties of a round and n_i the rows behind party i's update, what a round's sum gives is

    d = sum over S of n_i update_i / sum over S of n_i.

The weights are rows, since the aim is the mean loss over all rows, F = sum of n_i f_i / sum of n_i: with `fedsgd` d is
then the gradient of F over the rows taken, and with one local step over all rows the other algorithms give the same
model as `fedsgd`. For the other algorithms, whose update is a change, -d serves as the gradient (Reddi et al. 2021,
Algorithm 1), and `sgd` with rate 1 puts the weighted mean of the parties' models in the model's place. Statistics
(`Model.averaged`) are averaged in that way whatever the optimiser is: a running variance has no slope that Adam could
follow. Rounding and clipping to few bits can bring a small variance below zero, which has no root: such a variance is
set to zero.
"""

from __future__ import annotations

import numpy as np

from hekat.model import Optimiser, OptimiserState, make_optimiser
from hekat.protocol.horizontal.settings import TrainingSettings
from hekat.protocol.horizontal.training.trained_tensors import TrainedTensors
from hekat.protocol.secure_sum.streamed_tensor import Tensors

# For mean changes. A change is a step already: sgd and momentum take it whole (McMahan et al. 2017; Hsu et al. 2019).
# The adaptive ones move each weight by about their rate whatever the size of the change is; epsilon (tau) and beta_2
# are from Reddi et al. 2021, section 5; the rate is a first value to tune.
_FOR_CHANGES: dict[str, dict[str, float]] = {
    "sgd": {"learning_rate": 1.0},
    "momentum": {"learning_rate": 1.0},
    "adam": {"learning_rate": 0.1, "beta_2": 0.99, "epsilon": 1e-3},
    "yogi": {"learning_rate": 0.1, "beta_2": 0.99, "epsilon": 1e-3},
    "adagrad": {"learning_rate": 0.1, "epsilon": 1e-3},
    "rmsprop": {"learning_rate": 0.1, "epsilon": 1e-3},
}


def build_optimiser(training: TrainingSettings) -> Optimiser:
    """The server optimiser with `optimiser_settings`, and defaults for what they leave out.

    `fedsgd`: the optimiser's own defaults at the job's learning rate. The others: `_FOR_CHANGES`, at any rate of local
    steps. Raises InputError for an unknown optimiser or setting.
    """
    defaults = {"learning_rate": training.learning_rate}
    if training.averages_changes:
        defaults = _FOR_CHANGES.get(training.optimiser, {})
    return make_optimiser(training.optimiser, **{**defaults, **training.optimiser_settings})


class ServerStep:
    """Moves the trained tensors of a model by the mean of a round's updates; all others stay."""

    def __init__(self, trained: TrainedTensors, training: TrainingSettings) -> None:
        self._trained, self._optimiser = trained, build_optimiser(training)
        self._points_the_way = training.averages_changes

    def init_state(self, parameters: Tensors) -> OptimiserState:
        """The optimiser's state before the first step; it holds the trained weights alone."""
        return self._optimiser.init_state({name: parameters[name] for name in self._trained.weights})

    def apply(self, parameters: Tensors, mean: Tensors, state: OptimiserState) -> tuple[Tensors, OptimiserState]:
        """Model and optimiser state after the step; the arguments are only read."""
        against = {name: -mean[name] if self._points_the_way else mean[name] for name in self._trained.names}
        weights = {name: parameters[name] for name in self._trained.weights}
        moved, after = self._optimiser.step(weights, {name: against[name] for name in weights}, state)
        averaged = {name: parameters[name] - against[name] for name in self._trained.statistics}
        for name in self._trained.non_negative:
            averaged[name] = np.where(averaged[name] > 0, averaged[name], 0.0)
        return {**parameters, **moved, **averaged}, after
