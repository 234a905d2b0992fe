"""The exactness check finds a gradient that is not the centralised one."""

from __future__ import annotations

import numpy as np
import pytest

from hekat.errors import BoundError
from hekat.protocol.vertical_linear.exactness_check import ExactnessCheck
from hekat.protocol.vertical_linear.objective import INTERCEPT, WEIGHTS, residual_of
from hekat.protocol.vertical_linear.settings import VerticalLinearSettings

SETTINGS = VerticalLinearSettings("bank", ("shop",), arbiter="judge", classes=("no", "yes"))
ROWS = np.arange(0, 30, 2)


def deposited(error: float, party: str) -> ExactnessCheck:
    """An exactness check that gets exact gradients, except for `error` in one entry of `party`'s gradient."""
    rng = np.random.default_rng(1)
    columns = {"bank": rng.normal(size=(30, 2)), "shop": rng.normal(size=(30, 3))}
    targets = rng.choice([-1.0, 1.0], size=(30, 1))
    parameters = {
        "bank": {WEIGHTS: rng.normal(size=(2, 1)), INTERCEPT: np.array([0.3])},
        "shop": {WEIGHTS: rng.normal(size=(3, 1))},
    }
    exactness_check = ExactnessCheck(SETTINGS)
    for name, features in columns.items():
        exactness_check.begin(name, features, targets if name == "bank" else None)
    scores = sum(columns[name][ROWS] @ parameters[name][WEIGHTS] for name in columns) + 0.3
    d = residual_of("logistic").of(scores, targets[ROWS])
    for name in columns:
        gradient = {WEIGHTS: columns[name][ROWS].T @ d / len(ROWS)}
        if name == "bank":
            gradient[INTERCEPT] = d.mean(axis=0)
        if name == party:
            gradient[WEIGHTS][1, 0] += error
        exactness_check.deposit("epoch-1/batch-1", ROWS, name, parameters[name], gradient)
    return exactness_check


def test_exact_gradients_pass_with_nearly_no_error() -> None:
    (check,) = deposited(0.0, "shop").checks
    assert check.largest_error < 1e-14
    # 2^-17 of a feature of 2 or 3, times a few weights: not much more than rounding is allowed.
    assert 1e-6 < check.bound < 1e-4


@pytest.mark.parametrize("party", ["bank", "shop"])
def test_a_gradient_beyond_its_bound_stops_the_run(party: str) -> None:
    with pytest.raises(BoundError, match=f"gradient of {party} in epoch-1/batch-1 is further"):
        deposited(1e-3, party)
