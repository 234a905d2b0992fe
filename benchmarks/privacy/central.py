"""Central DP-SGD: one machine with all rows and no rounding, at the same epsilon as a job; what privacy itself costs.

Rows are taken by coins, clipped by the same code, and noised by a continuous Gaussian whose multiplier follows from
privacy loss distributions: the least noise that is known to keep to that epsilon.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from hekat.model import make_model, make_optimiser
from hekat.model.rows.row_sums import as_row_model
from hekat.privacy.accounting import Release, epsilon_if_continuous
from hekat.privacy.noised_levels import clip_factors


@dataclass(frozen=True)
class Plan:
    """What both ways of training have alike."""

    model: str
    hidden: tuple[int, ...]
    class_count: int
    rounds: int
    learning_rate: float
    clip: float
    sampling: float
    epsilon: float
    delta: float


def central_noise(plan: Plan) -> float:
    """The least multiplier of the continuous Gaussian that keeps to the plan's epsilon."""
    low, high = 2.0**-4, 2.0**8
    while high / low > 1.001:
        middle = math.sqrt(low * high)
        release = Release(middle, plan.sampling, 1, 1, 1e9)
        keeps = epsilon_if_continuous({release: plan.rounds}, plan.delta) <= plan.epsilon
        low, high = (low, middle) if keeps else (middle, high)
    return high


def train_centrally(plan: Plan, X: np.ndarray, y: np.ndarray, *, noise: float, seed: int) -> dict[str, np.ndarray]:
    """Parameters after the plan's rounds; `noise` 0 trains without noise."""
    rng = np.random.default_rng(seed)
    model = make_model(plan.model, X.shape[1], plan.class_count, hidden=plan.hidden)
    rows, parameters = as_row_model(model), model.init(1)
    optimiser = make_optimiser("momentum", learning_rate=plan.learning_rate)
    state = optimiser.init_state(parameters)
    divisor = plan.sampling * len(X)
    for _ in range(plan.rounds):
        chosen = np.flatnonzero(rng.random(len(X)) < plan.sampling)
        _, sums = rows.sum_clipped_rows(
            parameters, X[chosen], y[chosen], lambda norms: clip_factors(norms, plan.clip), list(parameters)
        )
        noised = {
            name: (values + noise * plan.clip * rng.standard_normal(values.shape)) / divisor
            for name, values in sums.items()
        }
        parameters, state = optimiser.step(parameters, noised, state)
    return parameters
