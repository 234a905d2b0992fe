"""The sealed network with all columns in one place, in float64: the same batches and steps, to compare with."""

from __future__ import annotations

import numpy as np

from hekat.protocol.vertical_network.fixed_point import FloatArray
from hekat.protocol.vertical_network.network_settings import MOMENTUM_BITS, NetworkTraining
from hekat.protocol.vertical_network.row_plan import RowPlan
from hekat.protocol.vertical_network.sealed.scales import RATE_BITS, signs_of


class FloatNetwork:
    """`weights` (columns with the ones before them, units and the linear one) move; formulas are in `scales`."""

    def __init__(self, weights: FloatArray, training: NetworkTraining) -> None:
        self.weights, self._training = weights, training
        self._velocity = np.zeros_like(weights)
        self._signs = np.array(signs_of(weights.shape[1] - 1), np.float64)

    def scores(self, columns: FloatArray) -> FloatArray:
        """The scores s (rows,) of `columns` of both parties, without the ones."""
        return self._scores_of(_with_ones(columns) @ self.weights)

    def train_epoch(self, columns: FloatArray, labels: FloatArray, plan: RowPlan) -> float:
        """Take the steps of an epoch on `columns` (rows, columns) with `labels` (rows,), 1 or -1; the mean loss of its
        rows, each before its batch's step."""
        inputs, training, total = _with_ones(columns), self._training, 0.0
        for rows in plan.batches:
            units = inputs[rows] @ self.weights
            residuals = self._scores_of(units) / 4 - labels[rows] / 2
            slopes = np.column_stack((residuals[:, np.newaxis] * units[:, :-1] * self._signs / 2, residuals))
            penalty = training.l2 * len(rows) * self.weights
            penalty[0] = 0
            carried = training.momentum_units / 2**MOMENTUM_BITS * self._velocity
            self._velocity = carried + inputs[rows].T @ slopes + penalty
            self.weights = self.weights - training.taken_rate(len(rows), RATE_BITS) / len(rows) * self._velocity
            total += float((residuals**2).sum())
        return 2 * total / len(plan.trained) + float(np.log(2)) - 0.5

    def _scores_of(self, units: FloatArray) -> FloatArray:
        return np.asarray(units[:, :-1] ** 2 @ self._signs / 4 + units[:, -1])


def _with_ones(columns: FloatArray) -> FloatArray:
    return np.column_stack((np.ones(len(columns)), columns))
