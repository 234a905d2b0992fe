"""Losses and gradients against central differences and scikit-learn; predictions; refusals."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.linear_model import LogisticRegression as SklearnLogistic
from sklearn.linear_model import Ridge
from sklearn.metrics import log_loss

from hekat.errors import InputError
from hekat.model import LinearRegression, LogisticRegression, Mlp, Model, Parameters, make_model

CASES: list[tuple[str, int | None, tuple[int, ...], str]] = [
    ("linear", None, (), "relu"),
    ("logistic", 2, (), "relu"),
    ("logistic", 4, (), "relu"),
    ("mlp", 2, (5,), "tanh"),
    ("mlp", 3, (6, 4), "tanh"),
    ("mlp", 2, (7, 3), "relu"),
    ("mlp", None, (4,), "relu"),
    ("mlp", None, (3, 3, 2), "tanh"),
]


def make_case(
    name: str, classes: int | None, hidden: tuple[int, ...], activation: Any, seed: int, l2: float
) -> tuple[Model, Parameters, Any, Any]:
    rng = np.random.default_rng(seed)
    model = make_model(name, 3, classes, hidden=hidden, l2=l2, activation=activation)
    rows = int(rng.integers(1, 12))
    X = rng.normal(size=(rows, 3))
    y = rng.normal(size=rows) if classes is None else rng.integers(0, classes, size=rows)
    params = {key: rng.normal(size=shape) for key, shape in model.parameter_shapes.items()}
    return model, params, X, y


@pytest.mark.parametrize("case", CASES, ids=str)
@given(seed=st.integers(0, 2**32 - 1), l2=st.sampled_from([0.0, 0.01, 3.0]))
@settings(max_examples=25, deadline=None)
def test_gradient_agrees_with_central_differences(
    case: tuple[str, int | None, tuple[int, ...], str], seed: int, l2: float
) -> None:
    model, params, X, y = make_case(*case, seed=seed, l2=l2)
    loss, gradient = model.loss_and_gradient(params, X, y)
    assert loss == pytest.approx(model.loss(params, X, y), rel=1e-14)
    assert {key: value.shape for key, value in gradient.items()} == model.parameter_shapes
    rng = np.random.default_rng(seed + 1)
    h = 1e-6
    for key, values in params.items():
        index = tuple(int(rng.integers(size)) for size in values.shape)
        losses = []
        for sign in (+1, -1):
            moved = {**params, key: values.copy()}
            moved[key][index] += sign * h
            losses.append(model.loss(moved, X, y))
        slope = (losses[0] - losses[1]) / (2 * h)
        assert gradient[key][index] == pytest.approx(slope, rel=2e-5, abs=2e-7 * max(1.0, abs(loss)))


@pytest.mark.parametrize("seed", [1, 2])
@pytest.mark.parametrize("classes", [2, 3])
def test_scikit_learn_optimum_of_logistic_regression_is_ours(classes: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    rows, l2 = 200, 0.05
    X = rng.normal(size=(rows, 4))
    y = np.argmax(X @ rng.normal(size=(4, classes)) + rng.gumbel(size=(rows, classes)), axis=1)
    theirs = SklearnLogistic(C=1 / (rows * l2), tol=1e-12, max_iter=10_000).fit(X, y)
    model = LogisticRegression(4, classes, l2=l2)
    params = {"weight": np.ascontiguousarray(theirs.coef_.T), "bias": theirs.intercept_}
    loss, gradient = model.loss_and_gradient(params, X, y)
    assert max(np.abs(values).max() for values in gradient.values()) < 1e-5
    assert model.data_loss(params, X, y) == pytest.approx(log_loss(y, theirs.predict_proba(X)), rel=1e-12)
    assert loss == pytest.approx(model.data_loss(params, X, y) + l2 / 2 * np.sum(theirs.coef_**2), rel=1e-12)
    np.testing.assert_allclose(model.predict_proba(params, X), theirs.predict_proba(X), rtol=1e-10)
    np.testing.assert_array_equal(model.predict(params, X), theirs.predict(X))


@pytest.mark.parametrize("seed", [3, 4])
def test_ridge_optimum_is_ours(seed: int) -> None:
    rng = np.random.default_rng(seed)
    rows, l2 = 60, 0.3
    X = rng.normal(size=(rows, 5)) + 2.0
    y = X @ rng.normal(size=5) + rng.normal(size=rows)
    theirs = Ridge(alpha=rows * l2, solver="cholesky").fit(X, y)
    params = {"weight": theirs.coef_[:, np.newaxis].copy(), "bias": np.array([theirs.intercept_])}
    model = LinearRegression(5, l2=l2)
    _, gradient = model.loss_and_gradient(params, X, y)
    assert max(np.abs(values).max() for values in gradient.values()) < 1e-10
    np.testing.assert_allclose(model.predict(params, X), theirs.predict(X), rtol=1e-12)


def test_loss_of_a_worked_example() -> None:
    model = LogisticRegression(1, 2, l2=0.5)
    params = {"weight": np.array([[2.0]]), "bias": np.array([-1.0])}
    X, y = np.array([[1.0], [0.0]]), np.array([1, 0])
    # Logits 1 and -1; both rows cost log(1 + e^-1); the penalty is 0.25 * 4 and leaves the bias out.
    assert model.loss(params, X, y) == pytest.approx(math.log1p(math.exp(-1)) + 1.0, rel=1e-15)


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("size", [1e3, 1e100, 1e300])
def test_extreme_logits_neither_overflow_nor_lose_their_slope(classes: int, size: float) -> None:
    model = LogisticRegression(1, classes)
    params = model.init(0)
    params["weight"][0, -1] = size
    X, wrong = np.array([[1.0], [-1.0]]), np.array([0, classes - 1])
    with np.errstate(all="raise", under="ignore"):
        loss, gradient = model.loss_and_gradient(params, X, wrong)
        probabilities = model.predict_proba(params, X)
    assert loss == pytest.approx(size, rel=1e-2)
    assert np.abs(gradient["weight"]).max() == pytest.approx(1.0, rel=0.5)
    np.testing.assert_allclose(probabilities.sum(axis=1), 1.0)


def test_divergence_is_a_non_finite_loss_not_a_warning() -> None:
    model = LinearRegression(1)
    params = {"weight": np.array([[1e300]]), "bias": np.zeros(1)}
    with np.errstate(all="raise"):
        loss, _ = model.loss_and_gradient(params, np.array([[1e300]]), np.zeros(1))
    assert not math.isfinite(loss)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_predictions_are_the_likeliest_class_or_the_output(
    case: tuple[str, int | None, tuple[int, ...], str],
) -> None:
    model, params, X, _ = make_case(*case, seed=9, l2=0.0)
    predictions = model.predict(params, X)
    assert predictions.shape == (X.shape[0],)
    if model.task == "regression":
        assert predictions.dtype == np.float64
        with pytest.raises(InputError, match="no class probabilities"):
            model.predict_proba(params, X)
        return
    probabilities = model.predict_proba(params, X)
    np.testing.assert_allclose(probabilities.sum(axis=1), 1.0)
    np.testing.assert_array_equal(predictions, probabilities.argmax(axis=1))


def test_mlp_without_bend_is_what_its_matrices_say() -> None:
    model = Mlp(2, None, hidden=(2,), activation="relu")
    params = {
        "layer_1.weight": np.array([[1.0, -1.0], [0.0, 2.0]]),
        "layer_1.bias": np.array([0.5, 0.0]),
        "layer_2.weight": np.array([[3.0], [1.0]]),
        "layer_2.bias": np.array([-1.0]),
    }
    # Hidden: relu(1 + 0.5) = 1.5 and relu(-1 + 2) = 1; output 4.5 + 1 - 1. Second row: relu(-1.5) = 0, relu(2) = 2.
    np.testing.assert_array_equal(model.predict(params, np.array([[1.0, 1.0], [-2.0, 0.0]])), [4.5, 1.0])


def test_init_follows_its_seed_and_its_spread() -> None:
    model = Mlp(400, 3, hidden=(300,))
    one, same, other = model.init(1), model.init(1), model.init(2)
    assert all(np.array_equal(one[key], same[key]) for key in one)
    assert not np.array_equal(one["layer_1.weight"], other["layer_1.weight"])
    assert np.var(one["layer_1.weight"]) == pytest.approx(2 / 400, rel=0.02)
    assert np.var(one["layer_2.weight"]) == pytest.approx(2 / 303, rel=0.1)
    assert not one["layer_1.bias"].any()
    assert not LogisticRegression(3).init(5)["weight"].any()


def test_parameters_are_only_read() -> None:
    model, params, X, y = make_case("mlp", 3, (4,), "relu", seed=11, l2=0.1)
    before = {key: values.copy() for key, values in params.items()}
    for values in params.values():
        values.setflags(write=False)
    model.loss_and_gradient(params, X, y)
    assert all(np.array_equal(before[key], params[key]) for key in params)


@pytest.mark.parametrize(
    ("name", "classes", "extra", "message"),
    [
        ("logistc", 2, {}, "did you mean 'logistic'"),
        ("transformer", 2, {}, "one of logistic, linear, mlp"),
        ("logistic", None, {}, "at least 2 classes"),
        ("logistic", 1, {}, "at least 2; got 1"),
        ("linear", 2, {}, "predicts a number"),
        ("logistic", 2, {"hidden": (4,)}, "remove hidden"),
        ("mlp", 2, {}, "set model.hidden"),
        ("mlp", 2, {"hidden": (4, 0)}, "hidden sizes refused"),
        ("mlp", 2, {"hidden": (4,), "activation": "rleu"}, "did you mean 'relu'"),
        ("linear", None, {"l2": -1.0}, "l2 refused"),
        ("linear", None, {"l2": math.nan}, "l2 refused"),
    ],
)
def test_models_that_cannot_be_made(name: str, classes: int | None, extra: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        make_model(name, 3, classes, **extra)


def test_a_model_needs_a_column() -> None:
    with pytest.raises(InputError, match="at least 1 column"):
        make_model("linear", 0, None)


@pytest.mark.parametrize(
    ("X", "y", "message"),
    [
        (np.zeros((2, 4)), np.zeros(2, dtype=np.int64), "features do not fit"),
        (np.zeros((2, 3), dtype=np.float32), np.zeros(2, dtype=np.int64), "float32"),
        (np.zeros((0, 3)), np.zeros(0, dtype=np.int64), "at least one row"),
        (np.zeros((2, 3)), np.zeros(3, dtype=np.int64), "one label for every row"),
        (np.zeros((2, 3)), np.zeros(2), "class numbers"),
        (np.zeros((2, 3)), np.array([0, 3]), "first in row 2"),
        (np.zeros((2, 3)), np.array([-1, 0]), "first in row 1"),
    ],
)
def test_rows_that_do_not_fit(X: Any, y: Any, message: str) -> None:
    model = make_model("logistic", 3, 3)
    for method in (model.loss, model.loss_and_gradient):
        with pytest.raises(InputError, match=message):
            method(model.init(0), X, y)


def test_text_labels_are_refused_by_a_regression() -> None:
    model = LinearRegression(1)
    with pytest.raises(InputError, match="labels are not numbers"):
        model.loss(model.init(0), np.zeros((1, 1)), np.array(["a"]))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"weight": np.zeros((3, 1))}, "no bias"),
        ({"weight": np.zeros((3, 1)), "bias": np.zeros(1), "scale": np.zeros(1)}, "unknown scale"),
        ({"weight": np.zeros((2, 1)), "bias": np.zeros(1)}, "weight has the wrong layout"),
        ({"weight": np.zeros((3, 1)), "bias": np.zeros(1, dtype=np.float32)}, "bias has the wrong layout"),
    ],
)
def test_parameters_of_another_model(params: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        make_model("logistic", 3, 2).predict(params, np.zeros((1, 3)))
