"""Gradient boosting on columns of several parties, in the shape of scikit-learn."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_diabetes, load_wine
from sklearn.exceptions import NotFittedError

from hekat.errors import HekatError, InputError, JobError, PolicyError
from hekat.estimator import VerticalGradientBoostingClassifier, VerticalGradientBoostingRegressor
from hekat.estimator.vertical_trees.categorical_features import category_names
from hekat.model.trees import TreeTraining, bin_table, make_objective, train_plain

WAIVER = "the guest may learn bins of hosts"
SMALL = {"max_iter": 4, "max_depth": 3, "max_bins": 16, "bin_leak_accepted": WAIVER}
SPLIT = {"clinic": slice(0, 4), "laboratory": slice(4, 10)}


@pytest.mark.long
def test_classes_are_predicted_as_plain_trees_predict_them() -> None:
    X, y = load_breast_cancer(return_X_y=True)
    X, y = X[:300, :10], y[:300]
    model = VerticalGradientBoostingClassifier(columns=SPLIT, **SMALL).fit(X, y)
    table = bin_table(X, 16)
    plain = train_plain(
        table, y, make_objective(2), TreeTraining(max_iter=4, max_depth=3, max_bins=16), joined=np.arange(10) >= 4
    )
    np.testing.assert_allclose(model.decision_function(X), plain.ensemble.raw_scores(table)[0], atol=1e-12)
    assert model.score(X, y) > 0.85
    np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1)
    assert {party: len(shares) for party, shares in model.feature_importances_.items()} == {
        "clinic": 4,
        "laboratory": 6,
    }
    assert sum(shares.sum() for shares in model.feature_importances_.values()) == pytest.approx(1)
    assert len(model.losses_) == model.n_iter_ == 4
    assert model.predicted_rows_ == {"clinic": 900, "laboratory": 900}


@pytest.mark.long
def test_three_classes_and_numbers() -> None:
    X, y = load_wine(return_X_y=True)
    parties = {"cellar": slice(0, 5), "laboratory": slice(5, 13)}
    model = VerticalGradientBoostingClassifier(
        columns=parties, min_samples_leaf=5, protection="none", **{**SMALL, "max_iter": 8, "learning_rate": 0.3}
    )
    assert model.fit(X, y).score(X, y) > 0.95
    assert model.predict_proba(X).shape == (178, 3)
    X, y = load_diabetes(return_X_y=True)
    numbers = VerticalGradientBoostingRegressor(columns=SPLIT, protection="none", **{**SMALL, "max_iter": 20})
    assert numbers.fit(X, y).score(X, y) > 0.4


def test_missing_values_and_categories_are_taken_as_they_are() -> None:
    rng = np.random.default_rng(2)
    town, size = rng.integers(0, 4, 300), rng.normal(size=300)
    y = np.isin(town, [1, 3]) ^ np.isnan(np.where(size > 1, np.nan, size))
    host = np.column_stack([town, np.where(size > 1, np.nan, size)])
    model = VerticalGradientBoostingClassifier(
        categorical_features={"host": [0]}, protection="none", **{**SMALL, "max_iter": 10, "learning_rate": 0.5}
    )
    tables = {"guest": rng.normal(size=(300, 1)), "host": host}
    assert model.fit(tables, y).score(tables, y) > 0.98


def test_it_has_the_shape_of_scikit_learn() -> None:
    model = VerticalGradientBoostingClassifier(columns=SPLIT, max_iter=3)
    copy = clone(model.set_params(max_depth=2))
    assert copy.get_params() == model.get_params()
    assert copy.max_depth == 2
    with pytest.raises(NotFittedError):
        copy.predict(np.zeros((2, 10)))


def test_a_warm_start_goes_on_with_the_trees_that_there_are() -> None:
    X, y = load_breast_cancer(return_X_y=True)
    X, y = X[:200, :10], y[:200]
    whole = VerticalGradientBoostingClassifier(columns=SPLIT, protection="none", **SMALL).fit(X, y)
    model = VerticalGradientBoostingClassifier(
        columns=SPLIT, protection="none", warm_start=True, **{**SMALL, "max_iter": 2}
    )
    model.fit(X, y).set_params(max_iter=4).fit(X, y)
    assert model.n_iter_ == 4
    # Its rows were predicted with the earlier parts; a fit that begins anew predicts none.
    assert (model.predicted_rows_, whole.predicted_rows_) == ({"clinic": 200, "laboratory": 200}, {})
    np.testing.assert_allclose(model.decision_function(X), whole.decision_function(X))
    assert set(model.predicted_rows_.values()) == {400}
    model.set_params(max_iter=5, max_predictions=599)
    with pytest.raises(PolicyError, match="max_predictions"):
        model.fit(X, y)
    model.set_params(max_predictions=600, max_bins=4)
    with pytest.raises(InputError, match="finer bins"):
        model.fit(X, y)


@pytest.mark.parametrize(
    ("parameters", "error", "words"),
    [
        ({"max_bins": 1}, HekatError, "max_bins"),
        ({"max_depth": 0}, HekatError, "max_depth"),
        ({"protection": "bfv"}, JobError, "protection"),
        ({"bin_leak_accepted": None}, PolicyError, "bin_leak_accepted"),
        ({"bin_leak_accepted": "yes"}, JobError, "bin_leak_accepted"),
        ({"receivers": ["laboratory"]}, JobError, "receivers"),
        ({"categorical_features": {"clinic": ["none"]}}, InputError, "categorical_features names no column"),
        ({"categorical_features": {"clinic": [99]}}, InputError, "categorical_features names no column"),
        ({"categorical_features": {"clinic": [-1]}}, InputError, "categorical_features names no column"),
        ({"categorical_features": {"clinic": [True, False]}}, InputError, "categorical_features names no column"),
        ({"categorical_features": {"clinc": [0]}}, InputError, "categorical_features names no party"),
        ({"categorical_features": [0]}, InputError, "categorical_features does not say whose"),
        ({"min_samples_leaf": 200}, InputError, "min_samples_leaf"),
    ],
)
def test_parameters_that_cannot_be_used_are_refused_by_their_names(parameters, error, words: str) -> None:
    X, y = load_breast_cancer(return_X_y=True)
    with pytest.raises(error) as refusal:
        VerticalGradientBoostingClassifier(columns=SPLIT, **{**SMALL, **parameters}).fit(X[:100, :10], y[:100])
    assert words in str(refusal.value)
    assert refusal.value.cure


@pytest.mark.parametrize("chosen", [["v", "w"], [1, 2], np.array([1, 2]), [False, True, True], ("v", 2)])
def test_categories_are_named_by_names_positions_or_a_mask(chosen) -> None:
    assert category_names("clinic", ("u", "v", "w"), chosen) == ("v", "w")


def test_predictions_are_counted() -> None:
    X, y = load_breast_cancer(return_X_y=True)
    X, y = X[:150, :10], y[:150]
    model = VerticalGradientBoostingClassifier(columns=SPLIT, protection="none", max_predictions=200, **SMALL).fit(X, y)
    model.predict(X)
    with pytest.raises(PolicyError, match="max_predictions"):
        model.predict(X)
