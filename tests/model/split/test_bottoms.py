"""Bottoms and tops: gradients are differences of losses, fixed maps stay, states give the same network again."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from hekat.errors import InputError
from hekat.model.split import (
    BottomTask,
    DenseTop,
    affine_map,
    dense_bottom,
    make_loss,
    principal_components,
    random_features,
    source_columns,
)

RNG_SEED = 11


def task_of(columns: int = 3, width: int = 4, *, trains: bool, rows: int = 30, **changes: Any) -> BottomTask:
    features = np.random.default_rng(RNG_SEED).normal(size=(rows, columns))
    return BottomTask(features, width, trains, seed=5, **changes)


@pytest.mark.parametrize("activation", ["relu", "tanh"])
@pytest.mark.parametrize("hidden", [(), (6,)])
def test_a_bottoms_gradient_is_the_slope_of_what_comes_after(hidden: tuple[int, ...], activation: Any) -> None:
    task = task_of(trains=True, hidden=hidden, activation=activation)
    bottom = dense_bottom(task)
    weights = np.random.default_rng(1).normal(size=(30, 4))
    features = bottom.forward(task.features)
    assert features.shape == (30, 4)
    gradient = bottom.backward(weights)
    assert gradient.keys() == bottom.arrays().keys()
    for name, values in bottom.arrays().items():
        moved = bottom.arrays()
        step = np.zeros_like(values)
        step.flat[0] = 1e-6
        found = []
        for sign in (1, -1):
            moved[name] = values + sign * step
            bottom.begin_from(moved)
            found.append(float((bottom.evaluate(task.features) * weights).sum()))
        bottom.begin_from(moved | {name: values})
        assert gradient[name].flat[0] == pytest.approx((found[0] - found[1]) / 2e-6, rel=1e-4, abs=1e-6)


@pytest.mark.parametrize("classes", [None, 2, 3])
def test_a_tops_slopes_are_the_slopes_of_the_loss(classes: int | None) -> None:
    count = 3 if classes == 3 else 1
    top = DenseTop(4, (5,), count, activation="tanh", learning_rate=0.01, seed=3)
    rng = np.random.default_rng(RNG_SEED)
    Z, loss = rng.normal(size=(6, 4)), make_loss(classes)
    # Targets of replaced labels lie outside [0, 1]; those of a row sum to 1.
    targets = rng.normal(size=(6, count))
    if count == 3:
        targets += (1 - targets.sum(axis=1, keepdims=True)) / 3
    outputs = top.forward(Z)
    _, slopes = top.backward(loss.slopes(outputs, targets) / len(Z))
    for row, unit in ((0, 0), (3, 2), (5, 3)):
        step = np.zeros_like(Z)
        step[row, unit] = 1e-6
        up, down = (loss.loss(top.evaluate(Z + sign * step), targets) for sign in (1, -1))
        assert slopes[row, unit] == pytest.approx((up - down) / 2e-6, rel=1e-4, abs=1e-8)


def test_states_give_the_same_network_again() -> None:
    task = task_of(trains=True)
    one, two = dense_bottom(task), dense_bottom(BottomTask(task.features, 4, True, seed=6))
    for _ in range(3):
        one.forward(task.features)
        one.step(one.backward(np.ones((30, 4))))
    two.begin_from(one.state_arrays())
    for bottom in (one, two):
        bottom.forward(task.features)
        bottom.step(bottom.backward(np.ones((30, 4))))
    np.testing.assert_array_equal(one.evaluate(task.features), two.evaluate(task.features))
    with pytest.raises(InputError):
        two.begin_from({"layer_1.weight": np.zeros((2, 2))})


@pytest.mark.parametrize("make", [random_features, principal_components])
def test_fixed_maps_stay_and_are_made_again_from_their_tensors(make: Any) -> None:
    task = task_of(columns=5, trains=False)
    bottom = make(task)
    assert (bottom.width, bottom.trains) == (4, False)
    np.testing.assert_array_equal(bottom.forward(task.features), bottom.evaluate(task.features))
    again = affine_map(bottom.kind, bottom.arrays())
    np.testing.assert_array_equal(again.evaluate(task.features), bottom.evaluate(task.features))
    with pytest.raises(InputError, match="does not train"):
        bottom.backward(np.zeros((30, 4)))
    with pytest.raises(InputError, match="does not train"):
        make(task_of(columns=5, trains=True))
    with pytest.raises(InputError, match="tensors are no"):
        affine_map(bottom.kind, {})


def test_random_features_follow_their_seed_alone() -> None:
    task = task_of(trains=False)
    other = BottomTask(task.features, 4, False, seed=6)
    one = random_features(task).evaluate(task.features)
    np.testing.assert_array_equal(one, random_features(task).evaluate(task.features))
    assert not np.array_equal(one, random_features(other).evaluate(task.features))
    assert (one >= 0).all()


def test_principal_components_have_spread_one_and_are_no_more_than_rows_span() -> None:
    task = task_of(columns=5, width=5, trains=False)
    found = principal_components(task).evaluate(task.features)
    np.testing.assert_allclose(found.T @ found / len(found), np.eye(5), atol=1e-9)
    flat = BottomTask(np.ones((30, 5)) * np.arange(30)[:, np.newaxis], 2, False, seed=1)
    with pytest.raises(InputError, match="fewer principal components"):
        principal_components(flat)


def test_source_columns_are_the_columns() -> None:
    task = task_of(trains=False)
    bottom = source_columns(task)
    assert bottom.width == 3
    np.testing.assert_array_equal(bottom.evaluate(task.features), task.features)
    with pytest.raises(InputError):
        bottom.evaluate(task.features[:, :2])
