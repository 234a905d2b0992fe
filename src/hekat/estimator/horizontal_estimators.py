"""Horizontal estimators: classes and numbers from rows that lie at several parties."""

from __future__ import annotations

from typing import Any

import numpy.typing as npt
from sklearn.base import ClassifierMixin, RegressorMixin

from hekat.data import Table
from hekat.estimator.horizontal_model import FloatArray, HorizontalModel
from hekat.estimator.horizontal_parameters import HorizontalNetworkParameters
from hekat.estimator.horizontal_rows import encode_classes, encode_numbers
from hekat.estimator.parameter_words import in_parameters


class HorizontalClassifier(ClassifierMixin, HorizontalModel):  # type: ignore[misc]
    """Classes: every label that any party has, sorted."""

    @in_parameters
    def predict_proba(self, X: Any) -> FloatArray:
        """Give the probability of each class for each row.

        Args:
            X: Rows with the columns of `fit`.

        Returns:
            Probabilities, float64 (rows, classes), in the order of `classes_`.

        Raises:
            InputError: other columns than in `fit`, or a cell without a finite number.
        """
        answers: FloatArray = self._model().predict_proba(self.parameters_, self._rows(X))
        return answers

    def _encode(self, tables: dict[str, Table]) -> tuple[dict[str, Table], npt.NDArray[Any]]:
        return encode_classes(tables)


class HorizontalRegressor(RegressorMixin, HorizontalModel):  # type: ignore[misc]
    """Numbers."""

    def _encode(self, tables: dict[str, Table]) -> tuple[dict[str, Table], None]:
        return encode_numbers(tables), None


class HorizontalLogisticRegression(HorizontalClassifier):
    """Logistic regression on rows of several parties, every update encrypted; three or more classes by a softmax.

    HorizontalParameters lists its parameters. At their defaults it minimises what scikit-learn's LogisticRegression
    does on standardised columns.

    Attributes:
        classes_: The classes, sorted.
        coef_: Weights in units of the columns as given, (1, columns) for two classes, else (classes, columns).
        intercept_: (1,) for two classes, else (classes,).
        losses_: The loss of each round, penalty included.
        n_iter_: How many rounds were trained.
        converged_: Whether training settled before its last round.
        n_features_in_: How many columns there are.
        feature_names_in_: Their names, where `fit` was given data frames or Tables.
        parameters_: The model on standardised columns, by name.
        mean_: What standardising takes from each column.
        scale_: What it then divides by.
        ledgers_: What each role learned in `fit`, by role.
        seconds_: How long `fit` took.

    Examples:
        >>> import numpy as np
        >>> from hekat.estimator import HorizontalLogisticRegression
        >>> rng = np.random.default_rng(1)
        >>> X = {name: rng.normal(size=(200, 3)) for name in ("north", "lake", "county")}
        >>> y = {name: (rows @ [2.0, -1.0, 0.0] > 0).astype(int) for name, rows in X.items()}
        >>> model = HorizontalLogisticRegression().fit(X, y)
        >>> bool(model.score(X["lake"], y["lake"]) > 0.95)
        True
    """

    _model_name = "logistic"


class HorizontalLinearRegression(HorizontalRegressor):
    """Least squares on rows of several parties, every sum encrypted: the first round solves it.

    HorizontalParameters lists its parameters; attributes are as in HorizontalLogisticRegression, without classes.
    `score` of scikit-learn gives R^2.

    Attributes:
        coef_: Weights in units of the columns as given, (columns,).
        intercept_: A number.

    Examples:
        >>> import numpy as np
        >>> from hekat.estimator import HorizontalLinearRegression
        >>> rng = np.random.default_rng(1)
        >>> X = {name: rng.normal(size=(200, 2)) for name in ("north", "lake", "county")}
        >>> y = {name: rows @ [3.0, -2.0] + 1.0 for name, rows in X.items()}
        >>> HorizontalLinearRegression().fit(X, y).coef_.round(3)
        array([ 3., -2.])
    """

    _model_name = "linear"


class HorizontalMLPClassifier(HorizontalNetworkParameters, HorizontalClassifier):
    """A network with hidden layers on rows of several parties, every update encrypted.

    HorizontalNetworkParameters lists its parameters; attributes are as in HorizontalLogisticRegression, without `coef_`
    and `intercept_`.

    Examples:
        >>> import numpy as np
        >>> from hekat.estimator import HorizontalMLPClassifier
        >>> rng = np.random.default_rng(1)
        >>> X = {name: rng.normal(size=(200, 2)) for name in ("north", "lake", "county")}
        >>> y = {name: (rows.prod(axis=1) > 0).astype(int) for name, rows in X.items()}
        >>> model = HorizontalMLPClassifier(hidden=(8,), rounds=60, patience=10).fit(X, y)
        >>> bool(model.score(X["lake"], y["lake"]) > 0.9)
        True
    """


class HorizontalMLPRegressor(HorizontalNetworkParameters, HorizontalRegressor):
    """A network that predicts numbers, on rows of several parties, every update encrypted.

    HorizontalNetworkParameters lists its parameters; attributes are as in HorizontalMLPClassifier, without classes.

    Examples:
        >>> import numpy as np
        >>> from hekat.estimator import HorizontalMLPRegressor
        >>> rng = np.random.default_rng(1)
        >>> X = {name: rng.normal(size=(200, 2)) for name in ("north", "lake", "county")}
        >>> y = {name: np.abs(rows).sum(axis=1) for name, rows in X.items()}
        >>> model = HorizontalMLPRegressor(hidden=(8,), rounds=20, patience=10).fit(X, y)
        >>> bool(model.score(X["lake"], y["lake"]) > 0.8)
        True
    """
