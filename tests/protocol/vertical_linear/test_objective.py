"""The plain objective: the Taylor loss as published, its gradient, and where training by it leads."""

from __future__ import annotations

import numpy as np
import pytest

from hekat.protocol.vertical_linear.objective import (
    INTERCEPT,
    WEIGHTS,
    batch_gradient,
    regularised,
    residual_of,
    train_centralised,
)
from hekat.protocol.vertical_linear.training_settings import LinearTraining


def data_of(seed: int, targets: int = 1):
    rng = np.random.default_rng(seed)
    features = rng.normal(size=(40, 3))
    parameters = {WEIGHTS: rng.normal(size=(3, targets)), INTERCEPT: rng.normal(size=targets)}
    return features, rng.choice([-1.0, 1.0], size=(40, targets)), parameters


def published_loss(task, features, targets, parameters) -> float:
    u = features @ parameters[WEIGHTS] + parameters[INTERCEPT]
    if task == "linear":
        return float(np.mean((u - targets) ** 2) / 2)
    return float(np.mean(np.log(2) - targets * u / 2 + u**2 / 8))


@pytest.mark.parametrize("targets", [1, 3])
@pytest.mark.parametrize("task", ["logistic", "linear"])
def test_loss_and_gradient_are_those_of_the_published_objective(task: str, targets: int) -> None:
    features, labels, parameters = data_of(1, targets)
    residual = residual_of(task)
    gradient, square = batch_gradient(features, labels, parameters, residual)
    loss = published_loss(task, features, labels, parameters)
    assert residual.loss(square) == pytest.approx(loss, rel=1e-12)
    assert residual.mean_square(loss) == pytest.approx(square, rel=1e-9)
    for name in (WEIGHTS, INTERCEPT):
        for index in np.ndindex(parameters[name].shape):
            moved = {key: values.copy() for key, values in parameters.items()}
            moved[name][index] += 1e-6
            slope = (published_loss(task, features, labels, moved) - loss) / 1e-6
            # The loss is a mean over K, each column's gradient is its own.
            assert gradient[name][index] == pytest.approx(slope * targets, abs=1e-5)


def test_linear_training_reaches_the_least_squares_solution() -> None:
    rng = np.random.default_rng(2)
    features = rng.normal(size=(60, 3))
    targets = features @ rng.normal(size=(3, 1)) + 0.7 + 0.1 * rng.normal(size=(60, 1))
    training = LinearTraining(epochs=400, batch_rows=0, learning_rate=0.5)
    *_, last = train_centralised(features, targets, "linear", training)
    exact = np.linalg.lstsq(np.column_stack([features, np.ones(60)]), targets, rcond=None)[0]
    np.testing.assert_allclose(np.vstack([last.parameters[WEIGHTS], last.parameters[INTERCEPT]]), exact, atol=1e-9)


def test_l2_leads_to_the_ridge_solution_with_a_free_intercept() -> None:
    rng = np.random.default_rng(3)
    features = rng.normal(size=(60, 3))
    features -= features.mean(axis=0)
    targets = features @ rng.normal(size=(3, 1)) + 5.0
    training = LinearTraining(epochs=300, batch_rows=0, learning_rate=0.5, l2=0.3)
    *_, last = train_centralised(features, targets, "linear", training)
    ridge = np.linalg.solve(features.T @ features / 60 + 0.3 * np.eye(3), features.T @ targets / 60)
    np.testing.assert_allclose(last.parameters[WEIGHTS], ridge, atol=1e-9)
    np.testing.assert_allclose(last.parameters[INTERCEPT], [5.0], atol=1e-9)


def test_l1_pulls_towards_zero_and_leaves_zero_alone() -> None:
    training = LinearTraining(l1=0.5, l2=0.1)
    direction = regularised(np.zeros((3, 1)), np.array([[2.0], [0.0], [-2.0]]), training)
    np.testing.assert_allclose(direction, [[0.7], [0.0], [-0.7]])
