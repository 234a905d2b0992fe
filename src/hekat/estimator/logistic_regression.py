"""VerticalLogisticRegression: classes from columns that lie at several parties."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets

from hekat.errors import InputError
from hekat.estimator.vertical_regression import FloatArray, VerticalRegression
from hekat.protocol.vertical_linear.prediction.answers import answers_of, probabilities_of
from hekat.protocol.vertical_linear.settings import Task


class VerticalLogisticRegression(ClassifierMixin, VerticalRegression):  # type: ignore[misc]
    """Logistic regression by its Taylor loss, of two classes or one against the rest, trained by all parties together.

    After `fit`: `classes_` (sorted), `parts_` (party -> ModelPart), `losses_` (one an epoch), `n_iter_`, `ledgers_`
    (party -> what it learned), `seconds_`, `seconds_by_part_`. Parameters are those of VerticalParameters.
    """

    _task: Task = "logistic"

    def predict(self, X: Any) -> npt.NDArray[Any]:
        """The class of each of the guest's rows, (rows,). `X` as in `fit`."""
        numbers, _ = answers_of(self._class_names(), self._scores(X))
        return np.asarray(self.classes_[numbers])

    def predict_proba(self, X: Any) -> FloatArray:
        """Of each row the probabilities of `classes_`, (rows, classes)."""
        return probabilities_of(self._scores(X))

    def decision_function(self, X: Any) -> FloatArray:
        """Scores: (rows,) of the second of two classes, (rows, classes) of more."""
        scores = self._scores(X)
        return scores[:, 0] if scores.shape[1] == 1 else scores

    def _class_names(self) -> list[str]:
        return [str(one) for one in getattr(self, "classes_", ())]

    def _read_labels(self, labels: npt.NDArray[Any]) -> tuple[npt.NDArray[Any], tuple[str, ...], npt.NDArray[Any]]:
        check_classification_targets(labels)
        classes, numbers = np.unique(labels, return_inverse=True)
        names = tuple(str(one).strip() for one in classes.tolist())
        if len(names) < 2 or len(set(names)) != len(names) or not all(names):
            raise InputError(
                "labels that are no classes",
                expected="two different labels or more, each with a text of its own",
                got=f"{len(names)}",
                cure="give y with all classes to be told apart",
            )
        return np.asarray(names)[numbers], names, classes
