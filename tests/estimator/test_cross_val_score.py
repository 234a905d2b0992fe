"""Cross-validation of horizontal estimators: what a job with folds says, in scikit-learn's shape."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_diabetes
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.metrics import log_loss
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from hekat.data import Table, fold_rows
from hekat.errors import InputError
from hekat.estimator import (
    HorizontalLinearRegression,
    HorizontalLogisticRegression,
    VerticalLinearRegression,
    cross_val_score,
)

PARTIES = ("north", "lake", "county")


def dealt(X, y) -> tuple[dict, dict]:
    parts = np.array_split(np.random.default_rng(4).permutation(len(y)), len(PARTIES))
    return tuple({name: each[rows] for name, rows in zip(PARTIES, parts, strict=True)} for each in (X, y))


def fold_by_fold(X, y, folds: int):
    """(rows to train on, labels, rows of the fold, labels) over all parties, as the estimators' seed cuts them."""
    names = tuple(map(str, range(next(iter(X.values())).shape[1])))
    for number in range(1, folds + 1):
        cut = [fold_rows(Table(X[name], y[name], names), number, folds, 0) for name in PARTIES]
        yield tuple(
            np.concatenate([getattr(part[side], kind) for part in cut])
            for side in (0, 1)
            for kind in ("features", "labels")
        )


@pytest.mark.long
def test_scores_of_classes_are_scikit_learns_on_the_same_folds() -> None:
    X, y = dealt(*load_breast_cancer(return_X_y=True))
    model = HorizontalLogisticRegression(protection="none")
    scores = cross_val_score(model, X, y, folds=4)
    losses = cross_val_score(model, X, y, folds=4, scoring="neg_log_loss")
    assert not hasattr(model, "classes_")
    assert scores.shape == losses.shape == (4,)
    for number, (train, labels, test, expected) in enumerate(fold_by_fold(X, y, 4)):
        reference = make_pipeline(StandardScaler(), LogisticRegression(max_iter=5000)).fit(train, labels)
        assert abs(scores[number] - reference.score(test, expected)) <= 1.5 / len(expected)
        assert -losses[number] == pytest.approx(log_loss(expected, reference.predict_proba(test)), abs=0.01)


def test_scores_of_numbers_are_scikit_learns_on_the_same_folds() -> None:
    X, y = dealt(*load_diabetes(return_X_y=True))
    model = HorizontalLinearRegression(protection="none")
    scores = cross_val_score(model, X, y, folds=3)
    errors = cross_val_score(model, X, y, folds=3, scoring="neg_root_mean_squared_error")
    for number, (train, labels, test, expected) in enumerate(fold_by_fold(X, y, 3)):
        reference = LinearRegression().fit(train, labels)
        assert scores[number] == pytest.approx(reference.score(test, expected), abs=1e-3)
        rmse = float(np.sqrt(np.mean((reference.predict(test) - expected) ** 2)))
        assert -errors[number] == pytest.approx(rmse, rel=1e-3)


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"folds": 1}, "setting folds refused"),
        ({"folds": 60}, "cannot be cut into 60 folds"),
        ({"folds": 2, "scoring": "r2"}, "no such score"),
        ({"folds": 2, "scoring": "f1"}, "no such score"),
    ],
)
def test_what_cannot_be_is_refused_in_parameters(more, words) -> None:
    rng = np.random.default_rng(1)
    X = {name: rng.normal(size=(40, 2)) for name in PARTIES}
    y = {name: (rows[:, 0] > 0).astype(int) for name, rows in X.items()}
    with pytest.raises(InputError, match=words):
        cross_val_score(HorizontalLogisticRegression(protection="none", rounds=1), X, y, **more)


def test_other_models_and_parts_of_folds_are_refused() -> None:
    X, y = dealt(*load_diabetes(return_X_y=True))
    for model in (LinearRegression(), VerticalLinearRegression()):
        with pytest.raises(InputError, match=f"got {type(model).__name__}"):
            cross_val_score(model, X, y, folds=3)
    for folds in (2.5, True, "3", None):
        with pytest.raises(InputError, match="folds are counted in whole numbers"):
            cross_val_score(HorizontalLinearRegression(), X, y, folds=folds)
