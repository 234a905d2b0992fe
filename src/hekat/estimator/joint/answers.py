"""What classifiers and regressors predict whose model is trained in steps on columns of several parties."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.utils.multiclass import check_classification_targets

from hekat.estimator.columns_estimator import FloatArray, read_classes
from hekat.estimator.parameter_words import in_parameters
from hekat.model.answers import answers_of


class JointClassification:
    """What a classifier of such a training predicts."""

    classes_: npt.NDArray[Any]
    _scores: Callable[[Any], FloatArray]

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
        _, probabilities = answers_of(self._class_names(), self._scores(X))
        assert probabilities is not None  # there are classes
        return probabilities

    @in_parameters
    def decision_function(self, X: Any) -> FloatArray:
        """Compute the raw scores that probabilities follow from, by a joint prediction on this machine.

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
        return [str(one) for one in getattr(self, "classes_", ("", ""))]

    def _read_labels(self, labels: npt.NDArray[Any]) -> tuple[npt.NDArray[Any], tuple[str, ...], npt.NDArray[Any]]:
        check_classification_targets(labels)
        return read_classes(labels)


class JointRegression:
    """What a regressor of such a training predicts."""

    _scores: Callable[[Any], FloatArray]

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
        numbers, _ = answers_of(None, self._scores(X))
        return np.asarray(numbers, np.float64)

    def _read_labels(self, labels: npt.NDArray[Any]) -> tuple[npt.NDArray[Any], None, None]:
        return labels, None, None
