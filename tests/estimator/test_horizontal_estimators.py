"""Horizontal estimators: scikit-learn's answers and shape, over every protection that needs no key from outside."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.compose import TransformedTargetRegressor
from sklearn.datasets import load_breast_cancer, load_diabetes, load_wine
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.preprocessing import StandardScaler

from hekat.errors import InputError, PolicyError
from hekat.estimator import (
    HorizontalLinearRegression,
    HorizontalLogisticRegression,
    HorizontalMLPClassifier,
    HorizontalMLPRegressor,
)

PARTIES = ("north", "lake", "county")
ESTIMATORS = (
    HorizontalLogisticRegression,
    HorizontalLinearRegression,
    HorizontalMLPClassifier,
    HorizontalMLPRegressor,
)


def dealt(X, y) -> tuple[dict, dict]:
    order = np.random.default_rng(4).permutation(len(y))
    parts = np.array_split(order, len(PARTIES))
    return {name: X[rows] for name, rows in zip(PARTIES, parts, strict=True)}, {
        name: y[rows] for name, rows in zip(PARTIES, parts, strict=True)
    }


@pytest.mark.long_cases("load_wine-lattice", "load_breast_cancer-lattice")
@pytest.mark.parametrize("protection", ["lattice", "none"])
@pytest.mark.parametrize("load", [load_breast_cancer, load_wine])
def test_classes_are_scikit_learns(load, protection) -> None:
    X, y = load(return_X_y=True)
    names = np.array(["low", "middle", "top"])[y]
    model = HorizontalLogisticRegression(protection=protection).fit(*dealt(X, names))
    scaler = StandardScaler().fit(X)
    reference = LogisticRegression(max_iter=5000, tol=1e-8).fit(scaler.transform(X), names)
    assert list(model.classes_) == sorted(set(names))
    assert model.converged_
    assert model.n_iter_ < 60
    agree = model.predict(X) == reference.predict(scaler.transform(X))
    assert agree.mean() > 0.99
    np.testing.assert_allclose(model.predict_proba(X), reference.predict_proba(scaler.transform(X)), atol=0.08)
    # coef_ is in units of the columns as they were given.
    scores = X @ model.coef_.T + model.intercept_
    found = model.classes_[(scores[:, 0] > 0).astype(int) if len(model.classes_) == 2 else scores.argmax(axis=1)]
    assert (found == model.predict(X)).all()
    assert model.coef_.shape == reference.coef_.shape
    assert model.intercept_.shape == reference.intercept_.shape


def test_numbers_are_scikit_learns() -> None:
    rng = np.random.default_rng(8)
    X = rng.normal(size=(300, 4)) * [1.0, 100.0, 1e-3, 5.0] + [0.0, 1e4, 0.0, 2.0]
    y = X @ [1.0, 0.02, 900.0, -1.0] + rng.normal(size=300)
    rows, labels = dealt(X, y)
    model = HorizontalLinearRegression().fit({name: (rows[name], labels[name]) for name in PARTIES})
    reference = LinearRegression().fit(X, y)
    np.testing.assert_allclose(model.coef_, reference.coef_, rtol=1e-3)
    assert model.intercept_ == pytest.approx(reference.intercept_, rel=1e-2)
    assert model.score(X, y) == pytest.approx(reference.score(X, y), abs=1e-5)
    assert model.n_iter_ <= 3


def test_a_network_learns_what_no_line_separates() -> None:
    X = np.random.default_rng(2).normal(size=(600, 2))
    rows, labels = dealt(X, (X.prod(axis=1) > 0).astype(int))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = HorizontalMLPClassifier(hidden=(8,), rounds=60, protection="none").fit(rows, labels)
        numbers = HorizontalMLPRegressor(hidden=(8,), rounds=60, protection="none").fit(
            rows, {name: values.prod(axis=1) for name, values in rows.items()}
        )
    assert model.score(X, (X.prod(axis=1) > 0).astype(int)) > 0.93
    assert numbers.score(X, X.prod(axis=1)) > 0.8
    assert not hasattr(model, "coef_")


@pytest.mark.parametrize("kind", ESTIMATORS)
def test_parameters_are_got_set_and_cloned(kind) -> None:
    model = kind(rounds=7, l2=0.5)
    again = clone(model).set_params(seed=3)
    assert {**model.get_params(), "seed": 3} == again.get_params()
    with pytest.raises(NotFittedError):
        model.predict(np.zeros((1, 2)))


@pytest.mark.parametrize("kind", ESTIMATORS)
def test_updates_are_masked_whole_and_nothing_can_be_said_of_a_part(kind) -> None:
    with pytest.raises(TypeError, match="masked"):
        kind(masked=0.1)
    with pytest.raises(ValueError, match="Invalid parameter 'masked'"):
        kind().set_params(masked=0.1)
    settings = kind()._settings({name: range(8) for name in PARTIES}, ("no", "yes"))
    assert settings.protection == "lattice"
    assert settings.selective is None


def test_too_few_rounds_are_said() -> None:
    X, y = load_breast_cancer(return_X_y=True)
    with pytest.warns(ConvergenceWarning, match="has not settled after 2 rounds"):
        model = HorizontalLogisticRegression(rounds=2, protection="none").fit(*dealt(X, y))
    assert not model.converged_


def test_local_steps_are_there_by_name() -> None:
    X, y = load_breast_cancer(return_X_y=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = HorizontalLogisticRegression(algorithm="fedavg", rounds=5, protection="none").fit(*dealt(X, y))
    assert model.n_iter_ == 5
    assert model.score(X, y) > 0.95
    with pytest.raises(InputError, match="has no effect"):
        HorizontalLogisticRegression(learning_rate=0.5).fit(*dealt(X, y))


@pytest.mark.parametrize(
    ("X", "y", "match"),
    [
        (np.zeros((4, 2)), np.zeros(4), "rows of several parties"),
        ({"a": np.zeros((4, 2))}, {"a": np.zeros(3)}, "labels of a do not fit"),
        ({"a": np.zeros((4, 2))}, None, "labels of a do not fit"),
        ({name: (np.ones((4, 2)), np.ones(4, int)) for name in PARTIES}, None, "one class only"),
    ],
)
def test_what_cannot_be_trained_is_refused(X, y, match) -> None:
    with pytest.raises(InputError, match=match):
        HorizontalLogisticRegression().fit(X, y)


def test_two_parties_are_refused_unless_both_accept() -> None:
    X, y = load_breast_cancer(return_X_y=True)
    rows = {"a": (X[:200], y[:200]), "b": (X[200:], y[200:])}
    with pytest.raises(PolicyError, match="two parties"):
        HorizontalLogisticRegression().fit(rows)
    assert HorizontalLogisticRegression(allow_two_parties=True, protection="none").fit(rows).converged_


def test_other_columns_are_refused() -> None:
    X, y = load_breast_cancer(return_X_y=True)
    model = HorizontalLogisticRegression(protection="none").fit(*dealt(X, y))
    with pytest.raises(InputError, match="other columns"):
        model.predict(X[:, 1:])


def framed() -> tuple[dict, dict]:
    pandas = pytest.importorskip("pandas", reason="needs hekat[dev]")
    rng = np.random.default_rng(12)
    X = {name: pandas.DataFrame(rng.normal(size=(60, 3)), columns=["a", "b", "c"]) for name in PARTIES}
    y = {name: pandas.Series(np.where(X[name].a > X[name].b, "yes", "no"), dtype=object) for name in PARTIES}
    return X, y


def test_columns_of_data_frames_are_found_by_their_names() -> None:
    X, y = framed()
    model = HorizontalLogisticRegression(protection="none").fit(X, y)
    assert list(model.feature_names_in_) == ["a", "b", "c"]
    rows = X["lake"]
    expected = model.predict_proba(rows)
    np.testing.assert_array_equal(model.predict_proba(rows[["c", "a", "b"]]), expected)
    np.testing.assert_array_equal(model.predict_proba(rows.to_numpy()), expected)
    for other in (rows.rename(columns={"a": "z"}), rows[["a", "b"]], rows.assign(d=0.0)):
        with pytest.raises(InputError, match="X has other columns than the model"):
            model.predict(other)
    model.fit({name: frame.to_numpy() for name, frame in X.items()}, y)
    assert not hasattr(model, "feature_names_in_")


def test_cells_without_a_number_are_refused_in_fit_and_in_predict() -> None:
    X, y = framed()
    model = HorizontalLogisticRegression(protection="none").fit(X, y)
    for value in (np.nan, np.inf):
        broken = X["lake"].assign(b=value)
        with pytest.raises(InputError, match="X has a"):
            model.predict_proba(broken)
        with pytest.raises(InputError, match="lake has a"):
            model.fit(X | {"lake": broken}, y)


def test_labels_of_a_series_follow_the_rows_of_its_frame() -> None:
    X, y = framed()
    model = HorizontalLogisticRegression(protection="none").fit(X, y)
    shuffled = {name: labels.sample(frac=1.0, random_state=5) for name, labels in y.items()}
    again = HorizontalLogisticRegression(protection="none").fit(X, shuffled)
    np.testing.assert_array_equal(again.coef_, model.coef_)
    y["lake"].index = y["lake"].index + 1
    with pytest.raises(InputError, match="different indexes"):
        model.fit(X, y)


@pytest.mark.parametrize("missing", [None, np.nan])
def test_labels_that_are_missing_or_texts_for_a_regression_are_refused(missing) -> None:
    X, y = framed()
    with pytest.raises(InputError, match="labels of north are no numbers"):
        HorizontalLinearRegression(protection="none").fit(X, y)
    y["county"][3] = missing
    with pytest.raises(InputError, match="labels of county are missing"):
        HorizontalLogisticRegression(protection="none").fit(X, y)
    numbers = {name: rows.a.to_numpy().copy() for name, rows in X.items()}
    numbers["lake"][2] = np.inf
    with pytest.raises(InputError, match="labels of lake are missing, or infinite"):
        HorizontalLinearRegression(protection="none").fit(X, numbers)


@pytest.mark.long
def test_a_network_at_its_defaults_comes_to_scikit_learns_score_and_settles() -> None:
    """133 rows of three classes: under the penalty of a linear model it learns them by heart and loses a test row."""
    X, y = load_wine(return_X_y=True)
    train, test = train_test_split(np.arange(len(y)), test_size=0.25, random_state=20, stratify=y)
    parts = dict(zip(PARTIES, np.array_split(train, len(PARTIES)), strict=True))
    model = HorizontalMLPClassifier(hidden=(100,), protection="none")
    model.fit({name: X[rows] for name, rows in parts.items()}, {name: y[rows] for name, rows in parts.items()})
    assert model.converged_
    scaler = StandardScaler().fit(X[train])
    scores = []
    for seed in range(3):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            reference = MLPClassifier(random_state=seed).fit(scaler.transform(X[train]), y[train])
        scores.append(reference.score(scaler.transform(X[test]), y[test]))
    assert model.score(X[test], y[test]) >= np.mean(scores) - 0.01


@pytest.mark.long
def test_a_network_of_numbers_reaches_scikit_learns_on_standardised_labels() -> None:
    X, y = load_diabetes(return_X_y=True)
    (X, X_new, y, y_new), standard = train_test_split(X, y, test_size=0.3, random_state=0), StandardScaler()
    model = HorizontalMLPRegressor(protection="none").fit(*dealt(X, y))
    network = MLPRegressor(hidden_layer_sizes=(16,), max_iter=500, random_state=0)
    reference = TransformedTargetRegressor(network, transformer=StandardScaler()).fit(standard.fit_transform(X), y)
    assert model.converged_
    assert model.score(X_new, y_new) > reference.score(standard.transform(X_new), y_new) - 0.01 > 0.3
