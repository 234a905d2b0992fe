"""VerticalLinearRegression: numbers from columns that lie at several parties."""

from __future__ import annotations

from typing import Any

import numpy.typing as npt
from sklearn.base import RegressorMixin

from hekat.estimator.vertical_regression import FloatArray, VerticalRegression
from hekat.protocol.vertical_linear.settings import Task


class VerticalLinearRegression(RegressorMixin, VerticalRegression):  # type: ignore[misc]
    """Linear regression by gradient descent on the mean squared error, trained by all parties together.

    After `fit`: `parts_` (party -> ModelPart), `losses_` (one an epoch), `n_iter_`, `ledgers_` (party -> what it
    learned), `seconds_`, `seconds_by_part_`. Parameters are those of VerticalParameters.
    """

    _task: Task = "linear"

    def predict(self, X: Any) -> FloatArray:
        """The number of each of the guest's rows, (rows,) in units of y. `X` as in `fit`."""
        return self._scores(X)[:, 0]

    def _read_labels(self, labels: npt.NDArray[Any]) -> tuple[npt.NDArray[Any], None, None]:
        return labels, None, None
