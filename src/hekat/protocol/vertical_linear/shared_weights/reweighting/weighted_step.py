"""The least squares of working rows: which steps solve it, and how weights of mixed columns are penalised.

The penalty is scikit-learn's at C = 1, half of the squared weights of standardised columns against the sum of losses:
without it, classes that can be told apart have no optimum. Each party adds the penalty on its own columns to its own
block, because it alone knows how they are mixed.
"""

from __future__ import annotations

from typing import Final

import numpy as np
import numpy.typing as npt

from hekat.protocol.vertical_linear.mixing import LEAST_VARIANCE
from hekat.protocol.vertical_linear.shared_weights.reweighting.working_rows import WorkingRows, unit_of
from hekat.protocol.vertical_linear.training_settings import LinearTraining

FloatArray = npt.NDArray[np.float64]

STEPS: Final = 60
_MOMENTUM: Final = 0.8


def find_penalty(unmixed: FloatArray, mixing: FloatArray) -> FloatArray:
    """The penalty (columns, columns) on the weights of a party's mixed columns: of its `unmixed` ones (rows, columns)
    at a spread of one each. No eigenvalue exceeds 1 / LEAST_VARIANCE."""
    factors = mixing[:-1] * unmixed.std(axis=0)[:, np.newaxis]
    return np.asarray(factors.T @ factors)


def solving_steps(row_count: int, column_count: int, party_count: int) -> LinearTraining:
    """The steps that solve it: weights are at most 1, so no eigenvalue exceeds the parties' number and the penalty's.

    `row_count` working rows, `column_count` is K.
    """
    largest = party_count + unit_of(column_count) / (LEAST_VARIANCE * row_count)
    return LinearTraining(
        epochs=STEPS,
        learning_rate=2.0 / largest,
        optimiser="momentum",
        optimiser_settings={"momentum": _MOMENTUM},
        batch_rows=0,
    )


def reweight_plain(
    features: FloatArray, penalty: FloatArray, start: FloatArray, working: WorkingRows, party_count: int
) -> FloatArray:
    """The weights (1 + columns, K) of working rows in float64, from `start`; the first is the intercept.

    `features` (rows, columns) are the mixed columns of all parties, `penalty` (columns, columns) on their weights.
    """
    row_count, column_count = working.weights.shape
    own = np.hstack([np.ones((row_count, 1)), features])
    penalties = np.zeros((own.shape[1], own.shape[1]))
    penalties[1:, 1:] = unit_of(column_count) * penalty
    training = solving_steps(row_count, column_count, party_count)
    found = np.empty_like(start)
    for column in range(column_count):
        weighted = own * working.weights[:, column, np.newaxis]
        products = (weighted.T @ own + penalties) / row_count
        targets = own.T @ working.responses[:, column] / row_count
        found[:, column] = solve_plain(products, targets, start[:, column], training)
    return found


def solve_plain(products: FloatArray, targets: FloatArray, start: FloatArray, training: LinearTraining) -> FloatArray:
    """The same steps in float64 from `start` (size,), for the means `products` (size, size) and `targets` (size,)."""
    weights, velocity = start.copy(), np.zeros_like(start)
    momentum = training.optimiser_settings["momentum"]
    for _ in range(training.epochs):
        velocity = momentum * velocity + products @ weights - targets
        weights = weights - training.learning_rate * velocity
    return weights
