"""Optimisers against sequences worked out by hand, and what keeps parties on the same bytes."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from hekat.errors import InputError
from hekat.model import OPTIMISER_NAMES, LogisticRegression, Optimiser, make_optimiser


def walk(optimiser: Optimiser, start: float, directions: list[float]) -> list[float]:
    params = {"w": np.array([start])}
    state = optimiser.init_state(params)
    places = []
    for direction in directions:
        params, state = optimiser.step(params, {"w": np.array([direction])}, state)
        places.append(float(params["w"][0]))
    return places


def test_sgd_by_hand() -> None:
    # 1 - 0.5*2, 0 - 0.5*(-4), 2 - 0.5*1
    assert walk(make_optimiser("sgd", learning_rate=0.5), 1.0, [2.0, -4.0, 1.0]) == [0.0, 2.0, 1.5]


def test_decay_by_hand() -> None:
    # Rates 0.5, 0.5/2, 0.5/3 with decay 1; directions all 6: 0 - 3, - 1.5, - 1
    places = walk(make_optimiser("sgd", learning_rate=0.5, decay=1.0), 0.0, [6.0, 6.0, 6.0])
    assert places == pytest.approx([-3.0, -4.5, -5.5], rel=1e-15)


def test_momentum_by_hand() -> None:
    # v: 2, 0.5*2+4 = 5, 0.5*5-2 = 0.5; rate 0.25: -0.5, -1.75, -1.875 (all exact in binary)
    optimiser = make_optimiser("momentum", learning_rate=0.25, momentum=0.5)
    assert walk(optimiser, 0.0, [2.0, 4.0, -2.0]) == [-0.5, -1.75, -1.875]


def test_rmsprop_by_hand() -> None:
    # s: 0.25*4 = 1, 0.75*1 + 0.25*16 = 4.75; steps 0.1*2/(1 + 1) and 0.1*4/(sqrt(4.75) + 1)
    optimiser = make_optimiser("rmsprop", learning_rate=0.1, rho=0.75, epsilon=1.0)
    second = -0.1 - 0.4 / (math.sqrt(4.75) + 1.0)
    assert walk(optimiser, 0.0, [2.0, 4.0]) == pytest.approx([-0.1, second], rel=1e-15)


def test_adam_by_hand() -> None:
    # Step 1: m^ = d, s^ = d^2, so a step of rate * d/(|d| + eps).
    # Step 2 with beta_1 0.5, beta_2 0.75, d = 2 then -1: m = 0.5*1 - 0.5 = 0, so nothing moves.
    # Step 3, d = 4: m = 2, m^ = 2/(1 - 1/8); s = 0.75*(0.75*1 + 0.25) + 4 = 4.75, s^ = 4.75/(1 - 27/64).
    optimiser = make_optimiser("adam", learning_rate=0.1, beta_1=0.5, beta_2=0.75, epsilon=1e-8)
    first = -0.1 * 2 / (2 + 1e-8)
    third = first - 0.1 * (16 / 7) / (math.sqrt(4.75 * 64 / 37) + 1e-8)
    assert walk(optimiser, 0.0, [2.0, -1.0, 4.0]) == pytest.approx([first, first, third], rel=1e-14)


def test_yogi_by_hand() -> None:
    # s from 1: 1 - 0.25*4*sign(1 - 4) = 2, then 2 - 0.25*1*sign(2 - 1) = 1.75; m: 0.5*2 = 1, 0.5*1 + 0.5*1 = 1.
    optimiser = make_optimiser("yogi", learning_rate=0.1, beta_1=0.5, beta_2=0.75, epsilon=1.0)
    first = -0.1 / (math.sqrt(2.0) + 1.0)
    second = first - 0.1 / (math.sqrt(1.75) + 1.0)
    assert walk(optimiser, 0.0, [2.0, 1.0]) == pytest.approx([first, second], rel=1e-15)


def test_adagrad_by_hand() -> None:
    # s from 1: 1 + 4 = 5, 5 + 4 = 9; steps 0.1*2/(sqrt(5) + 1) and 0.1*2/(3 + 1)
    optimiser = make_optimiser("adagrad", learning_rate=0.1, epsilon=1.0)
    first = -0.2 / (math.sqrt(5.0) + 1.0)
    assert walk(optimiser, 0.0, [2.0, 2.0]) == pytest.approx([first, first - 0.05], rel=1e-15)


@pytest.mark.parametrize("name", OPTIMISER_NAMES)
def test_step_reads_only_and_repeats_exactly(name: str) -> None:
    rng = np.random.default_rng(5)
    optimiser = make_optimiser(name, decay=0.1)
    params = {"a.weight": rng.normal(size=(3, 2)), "a.bias": rng.normal(size=2)}
    state = optimiser.init_state(params)
    for number in range(1, 4):
        direction = {key: rng.normal(size=values.shape) for key, values in params.items()}
        for arrays in (params, direction, state):
            for values in arrays.values():
                values.setflags(write=False)
        first = optimiser.step(params, direction, state)
        second = optimiser.step(params, direction, state)
        for one, other in zip(first, second, strict=True):
            assert one.keys() == other.keys()
            assert all(one[key].tobytes() == other[key].tobytes() for key in one)
        assert not np.array_equal(first[0]["a.weight"], params["a.weight"])
        params, state = first
        assert state["step_count"] == number
        assert all(values.dtype == np.float64 for values in state.values())


@pytest.mark.parametrize("name", OPTIMISER_NAMES)
def test_a_walk_taken_up_from_its_state_is_the_same_walk(name: str) -> None:
    rng = np.random.default_rng(6)
    directions = [{"w": rng.normal(size=4)} for _ in range(10)]
    params = {"w": np.ones(4)}
    optimiser = make_optimiser(name, decay=0.05)
    state = optimiser.init_state(params)
    for direction in directions[:6]:
        params, state = optimiser.step(params, direction, state)
    kept_params = {key: np.frombuffer(values.tobytes()).reshape(values.shape) for key, values in params.items()}
    kept_state = {key: np.frombuffer(values.tobytes()).reshape(values.shape) for key, values in state.items()}
    resumed = make_optimiser(name, decay=0.05)
    for direction in directions[6:]:
        params, state = optimiser.step(params, direction, state)
        kept_params, kept_state = resumed.step(kept_params, direction, kept_state)
    assert params["w"].tobytes() == kept_params["w"].tobytes()


@pytest.mark.parametrize(
    ("name", "settings"),
    [("sgd", {"learning_rate": 0.5}), ("momentum", {"learning_rate": 0.1}), ("adam", {"learning_rate": 0.05}),
     ("rmsprop", {"learning_rate": 0.02}), ("yogi", {"learning_rate": 0.05}), ("adagrad", {"learning_rate": 0.5})],
)  # fmt: skip
def test_each_optimiser_reaches_the_optimum(name: str, settings: dict[str, float]) -> None:
    rng = np.random.default_rng(7)
    X = rng.normal(size=(100, 3))
    y = (X[:, 0] - X[:, 1] + rng.normal(size=100) > 0).astype(np.int64)
    model = LogisticRegression(3, l2=0.1)
    optimiser = make_optimiser(name, decay=0.01, **settings)
    params = model.init(0)
    state = optimiser.init_state(params)
    for _ in range(600):
        params, state = optimiser.step(params, model.loss_and_gradient(params, X, y)[1], state)
    _, gradient = model.loss_and_gradient(params, X, y)
    assert max(np.abs(values).max() for values in gradient.values()) < 5e-3


@pytest.mark.parametrize(
    ("name", "settings", "message"),
    [
        ("adm", {}, "did you mean 'adam'"),
        ("lbfgs_with_line_search", {}, "one of sgd, momentum, adam, yogi, adagrad, rmsprop"),
        ("sgd", {"learning_rat": 0.1}, "did you mean 'learning_rate'"),
        ("sgd", {"momentum": 0.9}, "has no such setting"),
        ("sgd", {"learning_rate": 0.0}, "learning_rate refused"),
        ("sgd", {"learning_rate": math.inf}, "learning_rate refused"),
        ("sgd", {"learning_rate": "fast"}, "expected a number; got str"),
        ("sgd", {"decay": -0.1}, "decay refused"),
        ("momentum", {"momentum": 1.0}, "from 0 to below 1"),
        ("adam", {"beta_2": 1.0}, "beta_2 refused"),
        ("adam", {"epsilon": 0.0}, "epsilon refused"),
        ("rmsprop", {"rho": math.nan}, "rho refused"),
        ("yogi", {"epsilon": -1.0}, "epsilon refused"),
        ("yogi", {"beta_1": 1.0}, "beta_1 refused"),
        ("adagrad", {"epsilon": 0.0}, "epsilon refused"),
        ("adagrad", {"beta_1": 0.9}, "has no such setting"),
        ("yogy", {}, "did you mean 'yogi'"),
    ],
)
def test_optimisers_that_cannot_be_made(name: str, settings: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        make_optimiser(name, **settings)


def test_directions_and_states_of_another_model() -> None:
    optimiser = make_optimiser("adam")
    params = {"w": np.zeros(2)}
    state = optimiser.init_state(params)
    with pytest.raises(InputError, match="directions: other names"):
        optimiser.step(params, {"v": np.zeros(2)}, state)
    with pytest.raises(InputError, match="w has the wrong layout"):
        optimiser.step(params, {"w": np.zeros((2, 1))}, state)
    with pytest.raises(InputError, match="optimiser state: other names"):
        optimiser.step(params, {"w": np.zeros(2)}, make_optimiser("sgd").init_state(params))
