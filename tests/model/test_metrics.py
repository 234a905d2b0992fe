"""Metrics against scikit-learn and by hand, and what is left out where labels do not define it."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics import accuracy_score, log_loss, r2_score, roc_auc_score, root_mean_squared_error

from hekat.errors import InputError
from hekat.model import evaluate, make_model


@pytest.mark.parametrize("classes", [2, 3])
def test_classification_metrics_agree_with_scikit_learn(classes: int) -> None:
    rng = np.random.default_rng(classes)
    model = make_model("logistic", 4, classes, l2=7.0)
    params = {key: rng.normal(size=shape) for key, shape in model.parameter_shapes.items()}
    X, y = rng.normal(size=(50, 4)), rng.integers(0, classes, size=50)
    metrics = evaluate(model, params, X, y)
    probabilities = model.predict_proba(params, X)
    scores = probabilities[:, 1] if classes == 2 else probabilities
    assert set(metrics) == {"accuracy", "log_loss", "auc"}
    assert metrics["accuracy"] == accuracy_score(y, model.predict(params, X))
    assert metrics["log_loss"] == pytest.approx(log_loss(y, probabilities), rel=1e-12)
    assert metrics["auc"] == roc_auc_score(y, scores, multi_class="ovr")


def test_auc_by_hand() -> None:
    model = make_model("logistic", 1, 2)
    params = {"weight": np.ones((1, 1)), "bias": np.zeros(1)}
    # Of the four pairs (negative, positive) three are in order.
    metrics = evaluate(model, params, np.array([[-2.0], [1.0], [0.5], [3.0]]), np.array([0, 0, 1, 1]))
    assert metrics["auc"] == 0.75
    assert metrics["accuracy"] == 0.75


def test_regression_metrics_agree_with_scikit_learn() -> None:
    rng = np.random.default_rng(8)
    model = make_model("linear", 2, None, l2=3.0)
    params = {"weight": rng.normal(size=(2, 1)), "bias": rng.normal(size=1)}
    X, y = rng.normal(size=(30, 2)), rng.normal(size=30)
    predicted = model.predict(params, X)
    metrics = evaluate(model, params, X, y)
    assert metrics == pytest.approx({"rmse": root_mean_squared_error(y, predicted), "r2": r2_score(y, predicted)})


def test_what_the_labels_do_not_define_is_left_out() -> None:
    logistic, linear = make_model("logistic", 1, 2), make_model("linear", 1, None)
    X = np.ones((3, 1))
    assert set(evaluate(logistic, logistic.init(0), X, np.zeros(3, dtype=np.int64))) == {"accuracy", "log_loss"}
    assert set(evaluate(linear, linear.init(0), X, np.full(3, 0.1))) == {"rmse"}


def test_no_rows() -> None:
    model = make_model("logistic", 1, 2)
    with pytest.raises(InputError, match="at least one row"):
        evaluate(model, model.init(0), np.zeros((0, 1)), np.zeros(0, dtype=np.int64))
