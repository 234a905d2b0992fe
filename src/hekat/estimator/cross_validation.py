"""Cross-validation of horizontal estimators: scikit-learn's `cross_val_score`, on rows that lie at several parties."""

from __future__ import annotations

import numbers
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import clone

from hekat.errors import InputError
from hekat.estimator.horizontal_model import HorizontalModel

# By the name that scikit-learn has for a score: the metric of a fold's rows over all parties, and its sign.
_SCORES = {
    "accuracy": ("accuracy", 1.0),
    "neg_log_loss": ("log_loss", -1.0),
    "roc_auc": ("auc", 1.0),
    "r2": ("r2", 1.0),
    "neg_root_mean_squared_error": ("rmse", -1.0),
}


def cross_val_score(
    estimator: HorizontalModel, X: Any, y: Any = None, *, folds: int = 5, scoring: str | None = None
) -> npt.NDArray[np.float64]:
    """Score models of so many folds of every party's rows, each trained without its fold, every update encrypted.

    scikit-learn's function of that name cuts one table; here each party cuts its own rows, by the estimator's `seed`
    and evenly by class, and only sums over all parties say how good a model is. Columns are standardised as all rows
    have them.

    Args:
        estimator: A horizontal estimator; it is cloned, and stays as it is.
        X: As for its `fit`.
        y: As for its `fit`.
        folds: How many there are, 2 to 100 and no more than the rows of a party.
        scoring: `"accuracy"`, `"neg_log_loss"` or `"roc_auc"` (from counts in bins) for classes, `"r2"` or
            `"neg_root_mean_squared_error"` for numbers; None: accuracy or R^2, as in `score`.

    Returns:
        The score of each fold over the rows of all parties, float64 (folds,).

    Raises:
        InputError: rows, labels, parameters or folds that cannot be used, or a score that the model has not.
        PolicyError: two parties where `allow_two_parties` is not set.
        PartyStoppedError: a role failed for another reason.

    Examples:
        >>> import numpy as np
        >>> from hekat.estimator import HorizontalLinearRegression, cross_val_score
        >>> rng = np.random.default_rng(1)
        >>> X = {name: rng.normal(size=(60, 2)) for name in ("north", "lake", "county")}
        >>> y = {name: rows @ [3.0, -2.0] + rng.normal(size=60) for name, rows in X.items()}
        >>> scores = cross_val_score(HorizontalLinearRegression(), X, y, folds=3)
        >>> bool(scores.mean() > 0.9 and scores.std() < 0.1)
        True
    """
    if not isinstance(estimator, HorizontalModel):
        raise InputError(
            "parties hold other rows of the same columns for a horizontal estimator alone",
            expected="a horizontal estimator of hekat.estimator",
            got=type(estimator).__name__,
            cure="take a horizontal estimator; scikit-learn's own cross_val_score cuts one table for any other",
        )
    if isinstance(folds, bool) or not isinstance(folds, numbers.Integral):
        raise InputError(
            "folds are counted in whole numbers",
            expected="a whole number from 2 to 100",
            got=type(folds).__name__,
            cure="say folds=5",
        )
    found = clone(estimator)._cross_validate(X, y, int(folds))
    usual = "accuracy" if "accuracy" in found[0] else "r2"
    metric, sign = _SCORES.get(usual if scoring is None else scoring, (None, 1.0))
    if metric is None or any(metric not in fold for fold in found):
        have = [name for name, (one, _) in _SCORES.items() if all(one in fold for fold in found)]
        raise InputError(
            "there is no such score of these folds",
            expected=" or ".join(map(repr, have)),
            got=repr(scoring),
            cure="take one of these",
        )
    return np.array([sign * fold[metric] for fold in found])
