"""VerticalLinearRegression: numbers from columns that lie at several parties."""

from __future__ import annotations

from typing import Any

import numpy.typing as npt
from sklearn.base import RegressorMixin

from hekat.estimator.parameter_words import in_parameters
from hekat.estimator.vertical_regression import FloatArray, VerticalRegression
from hekat.protocol.vertical_linear.settings import Task


class VerticalLinearRegression(RegressorMixin, VerticalRegression):  # type: ignore[misc]
    """Linear regression by gradient descent on the mean squared error, trained by all parties together.

    VerticalParameters lists its parameters. `score` of scikit-learn gives R^2.

    Attributes:
        parts_: Each party's part of the model, by party.
        losses_: The loss of each epoch, as finely as the guest is told it.
        n_iter_: How many epochs were trained.
        n_features_in_: How many columns all parties have together.
        ledgers_: What each role learned in `fit`, by role.
        seconds_: How long `fit` took.
        seconds_by_part_: The same by role and by part of the work.
        prediction_ledgers_: What each party learned in the last prediction, by party.
        predicted_rows_: How many rows each party's part has predicted, by party; `fit` begins anew.

    Examples:
        >>> import numpy as np
        >>> from hekat.estimator import VerticalLinearRegression
        >>> X = np.random.default_rng(1).normal(size=(400, 4))
        >>> y = X @ [1.0, -1.0, 2.0, 0.5] + 3.0
        >>> model = VerticalLinearRegression(
        ...     columns={"clinic": slice(0, 2), "register": slice(2, 4)},
        ...     arbiter="notary",
        ...     protection="lattice",
        ...     batch_rows=0,
        ...     epochs=20,
        ...     learning_rate=1.0,
        ... )
        >>> model.fit(X, y).n_iter_
        20
        >>> bool(model.score(X, y) > 0.95)
        True
    """

    _task: Task = "linear"

    @in_parameters
    def predict(self, X: Any) -> FloatArray:
        """Predict the number of each of the guest's rows, by a joint prediction of all parties on this machine.

        Args:
            X: Every party's columns, given as in `fit`.

        Returns:
            Numbers in units of y, float64 (rows,), in the order of the guest's rows.

        Raises:
            InputError: Columns are missing or differ from `fit`, or not every party has the guest's rows.
            PolicyError: more rows than `max_predictions` since `fit`.
        """
        return self._scores(X)[:, 0]

    def _read_labels(self, labels: npt.NDArray[Any]) -> tuple[npt.NDArray[Any], None, None]:
        return labels, None, None
