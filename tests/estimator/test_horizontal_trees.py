"""Boosted trees across rows as estimators: near scikit-learn's, and in its shape."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_diabetes, load_wine
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.exceptions import NotFittedError
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import train_test_split

from hekat.data import Table
from hekat.errors import InputError, PolicyError
from hekat.estimator import HorizontalGradientBoostingClassifier, HorizontalGradientBoostingRegressor

PARTIES = ("north", "lake", "county")
SMALL = {"max_iter": 12, "max_depth": 3, "learning_rate": 0.3, "random_state": 1}


def dealt(X, y) -> tuple[dict, dict]:
    parts = np.array_split(np.random.default_rng(4).permutation(len(y)), len(PARTIES))
    return {name: X[rows] for name, rows in zip(PARTIES, parts, strict=True)}, {
        name: y[rows] for name, rows in zip(PARTIES, parts, strict=True)
    }


@pytest.mark.long
def test_two_classes_are_told_apart_as_by_scikit_learn() -> None:
    X, y = load_breast_cancer(return_X_y=True)
    X_fit, X_test, y_fit, y_test = train_test_split(X, y, random_state=3)
    names = np.array(["malign", "benign"])[y_fit]
    model = HorizontalGradientBoostingClassifier(**SMALL).fit(*dealt(X_fit, names))
    same = {name: SMALL[name] for name in ("max_iter", "max_depth", "learning_rate")}
    reference = HistGradientBoostingClassifier(max_bins=64, early_stopping=False, **same).fit(X_fit, names)
    assert model.classes_.tolist() == ["benign", "malign"]
    found, wanted = (roc_auc_score(y_test == 0, one.predict_proba(X_test)[:, 1]) for one in (model, reference))
    assert found > wanted - 0.01
    assert model.n_iter_ == 12
    assert len(model.losses_) == 13
    assert model.losses_[-1] < 0.5 * model.losses_[0]
    assert model.feature_importances_.sum() == pytest.approx(1)
    assert model.split_counts_.sum() > 12
    assert set(model.ledgers_) == {*PARTIES, "aggregator"}
    assert (model.predict(X_test) == np.array(["malign", "benign"])[y_test]).mean() > 0.93


@pytest.mark.long
def test_three_classes_and_missing_values() -> None:
    X, y = load_wine(return_X_y=True)
    X = X.copy()
    X[np.random.default_rng(1).random(X.shape) < 0.05] = np.nan
    model = HorizontalGradientBoostingClassifier(**{**SMALL, "max_iter": 8}, protection="none").fit(*dealt(X, y))
    assert model.predict_proba(X).shape == (178, 3)
    assert (model.predict(X) == y).mean() > 0.95


@pytest.mark.long
def test_numbers_are_predicted_as_by_scikit_learn_and_training_ends_early() -> None:
    X, y = load_diabetes(return_X_y=True)
    X_fit, X_test, y_fit, y_test = train_test_split(X, y, random_state=3)
    settings = {"max_depth": 3, "max_iter": 60}
    model = HorizontalGradientBoostingRegressor(
        **settings, protection="none", early_stopping=True, validation_fraction=0.2, n_iter_no_change=5, random_state=2
    ).fit(*dealt(X_fit, y_fit))
    reference = HistGradientBoostingRegressor(**settings, early_stopping=False).fit(X_fit, y_fit)
    assert model.score(X_test, y_test) > reference.score(X_test, y_test) - 0.1
    assert model.n_iter_ < 60
    assert len(model.validation_losses_) == model.n_iter_ + 1
    assert model.validation_["rmse"] ** 2 / 2 == pytest.approx(model.validation_losses_[-1])


@pytest.mark.long
def test_a_warm_start_goes_on_to_the_trees_of_one_training() -> None:
    X, y = dealt(*load_diabetes(return_X_y=True))
    settings = {"max_depth": 2, "random_state": 5, "protection": "none"}
    whole = HorizontalGradientBoostingRegressor(max_iter=6, **settings).fit(X, y)
    model = HorizontalGradientBoostingRegressor(max_iter=3, warm_start=True, **settings).fit(X, y)
    model.set_params(max_iter=6).fit(X, y)
    assert model.n_iter_ == 6
    assert np.allclose(model.predict(X["lake"]), whole.predict(X["lake"]))
    assert model.losses_ == whole.losses_
    with pytest.raises(InputError, match="nothing to add"):
        model.fit(X, y)
    with pytest.raises(InputError, match="columns and classes of the fit before"):
        model.set_params(max_iter=9).fit({name: rows[:, :4] for name, rows in X.items()}, y)


def test_what_they_are() -> None:
    model = HorizontalGradientBoostingClassifier(max_bins=17)
    assert clone(model).get_params() == model.get_params()
    with pytest.raises(NotFittedError):
        model.predict(np.zeros((1, 2)))


@pytest.mark.parametrize(
    ("parameters", "told"),
    [
        ({"max_bins": 1}, "max_bins"),
        ({"max_bins": 256}, "max_bins"),
        ({"max_depth": 0}, "max_depth"),
        ({"min_samples_leaf": 0}, "min_samples_leaf"),
        ({"gradient_bits": 32}, "gradient_bits"),
    ],
)
def test_parameters_that_cannot_be_are_named(parameters, told) -> None:
    X, y = dealt(*load_wine(return_X_y=True))
    with pytest.raises(InputError, match=told) as refused:
        HorizontalGradientBoostingClassifier(**parameters).fit(X, y)
    assert "training." not in str(refused.value)


@pytest.mark.long
def test_rows_and_parties_that_cannot_be_are_refused() -> None:
    X, y = dealt(*load_wine(return_X_y=True))
    with pytest.raises(PolicyError, match="two parties"):
        HorizontalGradientBoostingClassifier().fit({n: X[n] for n in PARTIES[:2]}, {n: y[n] for n in PARTIES[:2]})
    infinite = {**X, "lake": np.where(X["lake"] > 1000, np.inf, X["lake"])}
    with pytest.raises(InputError, match="infinite"):
        HorizontalGradientBoostingClassifier().fit(infinite, y)
    constant = {name: np.ones((len(rows), 2)) for name, rows in X.items()}
    with pytest.raises(InputError, match="no column can split"):
        HorizontalGradientBoostingClassifier(protection="none").fit(constant, y)
    model = HorizontalGradientBoostingClassifier(protection="none", max_iter=1).fit(X, y)
    with pytest.raises(InputError, match="other columns"):
        model.predict(X["lake"][:, :3])
    with pytest.raises(InputError, match="infinite"):
        model.predict(infinite["lake"])


def test_columns_with_names_are_found_by_them() -> None:
    X, y = dealt(*load_diabetes(return_X_y=True))
    names = tuple(f"c{number}" for number in range(10))
    tables = {name: Table(rows, y[name], names, name) for name, rows in X.items()}
    model = HorizontalGradientBoostingRegressor(max_iter=2, protection="none", random_state=1).fit(tables)
    assert model.feature_names_in_.tolist() == list(names)
    turned = Table(X["lake"][:, ::-1], None, names[::-1], "lake")
    assert np.array_equal(model.predict(turned), model.predict(tables["lake"]))
