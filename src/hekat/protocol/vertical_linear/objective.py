"""The objective in plain float64 arithmetic: every form of the training is held against it.

For each of K columns of targets the loss is logistic by Taylor, the mean of log 2 - y u / 2 + u^2 / 8 with y in {-1,
1}, or linear, the mean of (u - y)^2 / 2. The penalty l2 |w|^2 / 2 + l1 |w|_1 leaves the intercept out. Both losses
follow from the residual d, and the gradient is the mean product of d with the features.
Source: Hardy et al. 2017, section 3; HAFLO, section 2.1; docs/decisions/0030.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from hekat.data import Features
from hekat.model import Parameters, make_optimiser
from hekat.model.optimisers import Optimiser
from hekat.protocol.stop_rules import has_settled, should_stop
from hekat.protocol.vertical.batches import draw_batches
from hekat.protocol.vertical_linear.settings import SCORE_FACTORS
from hekat.protocol.vertical_linear.training_settings import LinearTraining

FloatArray = npt.NDArray[np.float64]
WEIGHTS, INTERCEPT = "weights", "intercept"


@dataclass(frozen=True)
class Residual:
    """d = score_factor u - target_factor y, and the loss as loss_offset + loss_factor times the mean of d^2."""

    score_factor: float
    target_factor: float
    loss_offset: float
    loss_factor: float

    def of(self, scores: FloatArray, targets: FloatArray) -> FloatArray:
        return self.score_factor * scores - self.target_factor * targets

    def loss(self, mean_square: float) -> float:
        """The mean loss of rows, from the mean square of their residuals."""
        return self.loss_offset + self.loss_factor * mean_square

    def mean_square(self, loss: float) -> float:
        """The mean square of residuals, from their mean loss; 0 where rounding took the loss below its minimum."""
        return max(0.0, (loss - self.loss_offset) / self.loss_factor)


RESIDUALS: Mapping[str, Residual] = {
    "logistic": Residual(SCORE_FACTORS["logistic"], 0.5, math.log(2.0) - 0.5, 2.0),
    "linear": Residual(SCORE_FACTORS["linear"], 1.0, 0.0, 0.5),
}


@dataclass(frozen=True)
class CentralStep:
    """One step of centralised training: the weights before it, the gradient without penalties, the batch's loss."""

    epoch: int
    batch: int
    parameters: Parameters
    gradient: Parameters
    loss: float


def residual_of(task: str) -> Residual:
    """The residual of a task, by its name in the settings."""
    return RESIDUALS[task]


def make_job_optimiser(training: LinearTraining) -> Optimiser:
    """Make the optimiser that a job names, with its learning rate and settings."""
    return make_optimiser(training.optimiser, learning_rate=training.learning_rate, **dict(training.optimiser_settings))


def ends_training(losses: Sequence[float], training: LinearTraining, task: str, told_bits: int) -> bool:
    """Whether the stop rules of a job end its training, by losses that are told to 2^-told_bits of a mean square."""
    if training.stops_when_settled and has_settled(losses, RESIDUALS[task].loss_factor * 2.0**-told_bits):
        return True
    return should_stop(losses, training)


def regularised(gradient: FloatArray, weights: FloatArray, training: LinearTraining) -> FloatArray:
    """The direction of a step for weights: the gradient of the loss plus l2 w + l1 sign(w), with sign(0) = 0."""
    return gradient + training.l2 * weights + training.l1 * np.sign(weights)


def batch_gradient(
    features: Features, targets: FloatArray, parameters: Parameters, residual: Residual
) -> tuple[Parameters, float]:
    """The gradient of the mean loss over rows, and the mean of d^2 over rows and columns of targets."""
    d = residual.of(features @ parameters[WEIGHTS] + parameters[INTERCEPT], targets)
    row_count = features.shape[0]
    gradient = {WEIGHTS: np.asarray(features.T @ d) / row_count, INTERCEPT: d.sum(axis=0) / row_count}
    return gradient, float(np.mean(d * d))


def start_parameters(column_count: int, target_count: int) -> Parameters:
    """The weights (columns, K) and the intercept (K,) that training begins with: all 0."""
    return {WEIGHTS: np.zeros((column_count, target_count)), INTERCEPT: np.zeros(target_count)}


def train_centralised(
    features: Features, targets: FloatArray, task: str, training: LinearTraining, start: Parameters | None = None
) -> Iterator[CentralStep]:
    """Train on joined columns in float64, with the batches and the optimiser of the protocol.

    `features` (rows, columns) are the prepared columns of all parties, `targets` (rows, K). Yields every step before
    it is made, and at the end one step of batch -1 with the final weights.
    """
    residual, optimiser = residual_of(task), make_job_optimiser(training)
    parameters = start or start_parameters(features.shape[1], targets.shape[1])
    state = optimiser.init_state(parameters)
    batches = draw_batches(features.shape[0], training.batch_rows, training.seed)
    for epoch in range(1, training.epochs + 1):
        for number, rows in enumerate(batches):
            gradient, square = batch_gradient(features[rows], targets[rows], parameters, residual)
            yield CentralStep(epoch, number, parameters, gradient, residual.loss(square))
            direction = {**gradient, WEIGHTS: regularised(gradient[WEIGHTS], parameters[WEIGHTS], training)}
            parameters, state = optimiser.step(parameters, direction, state)
    gradient, square = batch_gradient(features, targets, parameters, residual)
    yield CentralStep(training.epochs, -1, parameters, gradient, residual.loss(square))
