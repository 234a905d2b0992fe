"""What a party computes from its own rows in a round: a gradient, or a change of the weights after local epochs.

With f_i the mean loss over party i's rows, x the model all parties hold, eta `learning_rate`, and y the party's own
copy of x that its local steps move, batch by batch:

    fedsgd    g_i(x), the gradient of one batch
    fedavg    y <- y - eta g_i(y)                           McMahan et al. 2017, Algorithm 1
    fedprox   y <- y - eta (g_i(y) + mu (y - x))            Li et al. 2020, Algorithm 2 with local SGD
    scaffold  y <- y - eta (g_i(y) - c_i + c)               Karimireddy et al. 2020, Algorithm 1

The last three send y - x. What is averaged with which weights: `server_step.py`; c and c_i: `control_variates.py`.
Statistics (`Model.averaged`) are no weights: their slope is taken with step 1, without eta, mu, c or c_i.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from hekat.codec.clip import FloatArray
from hekat.model import Model
from hekat.protocol.horizontal.settings import TrainingSettings
from hekat.protocol.horizontal.training.trained_tensors import TrainedTensors
from hekat.protocol.secure_sum.streamed_tensor import Tensors

LabelArray = npt.NDArray[np.float64] | npt.NDArray[np.int64]


@dataclass(frozen=True)
class LocalWork:
    """One party's work of one round.

    `update` holds the trained tensors alone; `loss` is the mean over the rows at the round's start, penalty included;
    `weight` is how many rows are behind both; `step_count` how many local steps led to the update (1 for `fedsgd`).
    """

    update: Tensors = field(repr=False)
    loss: float = field(repr=False)
    weight: int = field(repr=False)
    step_count: int


def local_update(
    model: Model,
    parameters: Tensors,
    features: FloatArray,
    labels: LabelArray,
    training: TrainingSettings,
    rng: np.random.Generator,
    *,
    trained: TrainedTensors,
    correction: Tensors | None = None,
) -> LocalWork:
    """The work of one round from the model `parameters`, which are only read.

    `correction` is c - c_i for each trained weight (`scaffold`); tensors that are not trained stay as they are.
    """
    row_count = features.shape[0]
    batch_rows = min(training.batch_rows or row_count, row_count)
    if training.algorithm == "fedsgd":
        # All rows too come in another order each round: what a model draws by its batch (dropout) then follows from the
        # round, and a run that is resumed draws as one that went through.
        chosen = rng.permutation(row_count)[:batch_rows]
        loss, gradient = model.loss_and_gradient(parameters, features[chosen], labels[chosen])
        return LocalWork({name: gradient[name] for name in trained.names}, loss, batch_rows, 1)
    loss = model.loss(parameters, features, labels)
    current = dict(parameters)
    step_count = 0
    for rows in _batches(row_count, batch_rows, training.local_epochs, rng):
        _, gradient = model.loss_and_gradient(current, features[rows], labels[rows])
        for name in trained.weights:
            slope = gradient[name]
            if training.algorithm == "fedprox":
                slope = slope + training.proximal_mu * (current[name] - parameters[name])
            if correction is not None:
                slope = slope + correction[name]
            current[name] = current[name] - training.learning_rate * slope
        for name in trained.statistics:
            current[name] = current[name] - gradient[name]
        step_count += 1
    return LocalWork({name: current[name] - parameters[name] for name in trained.names}, loss, row_count, step_count)


def _batches(
    row_count: int, batch_rows: int, epoch_count: int, rng: np.random.Generator
) -> Iterator[npt.NDArray[np.int64]]:
    """The rows of each local step: every epoch takes all rows once, in an order of its own."""
    for _ in range(epoch_count):
        order = rng.permutation(row_count)
        for start in range(0, row_count, batch_rows):
            yield order[start : start + batch_rows]
