"""Local steps of stochastic gradient descent from the model that all parties hold, along an algorithm's slope."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import numpy.typing as npt

from hekat.codec.clip import FloatArray
from hekat.errors import InputError
from hekat.protocol.horizontal.training.algorithms.algorithm import LocalSettings, LocalTask, LocalWork

DEFAULT_PROXIMAL_MU = 0.01

# The slope of the weight `name` at y, from its gradient there.
Slope = Callable[[str, FloatArray, FloatArray], FloatArray]


def take_local_steps(task: LocalTask, slope_of: Slope) -> LocalWork:
    """`local_epochs` times over all rows in batches; the update is the change of the trained tensors.

    `slope_of(name, gradient, current)` is what a weight is moved against. Tensors that are not trained stay.
    """
    model, rows, training, trained = task.model, task.rows, task.training, task.trained
    loss = model.loss(task.parameters, rows.features, rows.labels)
    current = dict(task.parameters)
    # What the weights were two steps ago: for large models fresh memory takes longer than the arithmetic.
    spare: dict[str, FloatArray] = {}
    step_count = 0
    for batch in _batches(len(rows), task.batch_rows, training.local_epochs, task.rng):
        _, gradient = model.loss_and_gradient(current, rows.features[batch], rows.labels[batch])
        for name in trained.weights:
            slope = slope_of(name, gradient[name], current[name])
            moved = spare.pop(name) if name in spare else np.empty(current[name].shape)
            np.multiply(slope, training.learning_rate, out=moved)
            np.subtract(current[name], moved, out=moved)
            if step_count:
                spare[name] = current[name]
            current[name] = moved
        for name in trained.statistics:
            # A difference of tensors without axes is a NumPy scalar, into which nothing can be written below.
            current[name] = np.asarray(current[name] - gradient[name])
        step_count += 1
    update = {}
    for name in trained.names:
        update[name] = np.subtract(current[name], task.parameters[name], out=current[name] if step_count else None)
    return LocalWork(update, loss, len(rows), step_count)


def refuse_proximal_mu(algorithm: str, training: LocalSettings) -> None:
    """Raise InputError where the job sets `proximal_mu` and the algorithm does not use it."""
    if training.proximal_mu != DEFAULT_PROXIMAL_MU:
        raise InputError(
            "setting training.proximal_mu has no effect",
            expected="training.algorithm = 'fedprox'",
            got=repr(algorithm),
            cure="remove training.proximal_mu, or choose fedprox",
        )


def _batches(
    row_count: int, batch_rows: int, epoch_count: int, rng: np.random.Generator
) -> Iterator[npt.NDArray[np.int64]]:
    """The rows of each local step: every epoch takes all rows once, in an order of its own."""
    for _ in range(epoch_count):
        order = rng.permutation(row_count)
        for start in range(0, row_count, batch_rows):
            yield order[start : start + batch_rows]
