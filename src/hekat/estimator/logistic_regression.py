"""VerticalLogisticRegression: classes from columns that lie at several parties."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets

from hekat.estimator.columns_estimator import read_classes
from hekat.estimator.parameter_words import in_parameters
from hekat.estimator.vertical_regression import FloatArray, VerticalRegression
from hekat.protocol.vertical_linear.prediction.answers import answers_of, probabilities_of
from hekat.protocol.vertical_linear.settings import Task


class VerticalLogisticRegression(ClassifierMixin, VerticalRegression):  # type: ignore[misc]
    """Logistic regression by its Taylor loss, trained by all parties together.

    Two classes have one score; of more classes each has a score of its own, against all others. VerticalParameters
    lists its parameters. `score` of scikit-learn gives the accuracy.

    Attributes:
        classes_: The classes, sorted.
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
        >>> from hekat.estimator import VerticalLogisticRegression
        >>> X = np.random.default_rng(1).normal(size=(400, 4))
        >>> y = np.where(X @ [1.0, -1.0, 2.0, 0.5] > 0, "repaid", "defaulted")
        >>> model = VerticalLogisticRegression(
        ...     columns={"bank": slice(0, 2), "insurer": slice(2, 4)},
        ...     arbiter="notary",
        ...     protection="lattice",
        ...     batch_rows=0,
        ...     epochs=10,
        ...     learning_rate=4.0,
        ... )
        >>> [round(loss, 2) for loss in model.fit(X, y).losses_[:3]]
        [0.69, 0.38, 0.37]
        >>> model.classes_.tolist(), sorted(model.parts_)
        (['defaulted', 'repaid'], ['bank', 'insurer'])
        >>> model.predict(X[:3]).tolist()
        ['defaulted', 'defaulted', 'repaid']
        >>> model.predict_proba(X[:3]).shape, model.decision_function(X[:3]).shape
        ((3, 2), (3,))
    """

    _task: Task = "logistic"

    @in_parameters
    def predict(self, X: Any) -> npt.NDArray[Any]:
        """Predict the class of each of the guest's rows, by a joint prediction of all parties on this machine.

        Args:
            X: Every party's columns, given as in `fit`.

        Returns:
            Classes, (rows,), in the order of the guest's rows.

        Raises:
            InputError: Columns are missing or differ from `fit`, or not every party has the guest's rows.
            PolicyError: more rows than `max_predictions` since `fit`.
        """
        numbers, _ = answers_of(self._class_names(), self._scores(X))
        return np.asarray(self.classes_[numbers])

    @in_parameters
    def predict_proba(self, X: Any) -> FloatArray:
        """Predict the probability of each class, by a joint prediction of all parties on this machine.

        Args:
            X: Every party's columns, given as in `fit`.

        Returns:
            Probabilities, float64 (rows, classes) in the order of `classes_`; each row adds up to 1.

        Raises:
            InputError: Columns are missing or differ from `fit`, or not every party has the guest's rows.
            PolicyError: more rows than `max_predictions` since `fit`.
        """
        return probabilities_of(self._scores(X))

    @in_parameters
    def decision_function(self, X: Any) -> FloatArray:
        """Compute the scores that classes and probabilities follow from, by a joint prediction on this machine.

        Args:
            X: Every party's columns, given as in `fit`.

        Returns:
            Scores, float64: (rows,) of the second of two classes, (rows, classes) of more.

        Raises:
            InputError: Columns are missing or differ from `fit`, or not every party has the guest's rows.
            PolicyError: more rows than `max_predictions` since `fit`.
        """
        scores = self._scores(X)
        return scores[:, 0] if scores.shape[1] == 1 else scores

    def _class_names(self) -> list[str]:
        return [str(one) for one in getattr(self, "classes_", ())]

    def _read_labels(self, labels: npt.NDArray[Any]) -> tuple[npt.NDArray[Any], tuple[str, ...], npt.NDArray[Any]]:
        check_classification_targets(labels)
        return read_classes(labels)
