"""What the tests of loops share: states of a few small arrays, and a federation of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pytest
from tests.protocol.unsealed import unseal

from hekat.codec import error_bound_sum
from hekat.own_loop import Federated, Party, federate
from hekat.own_loop.costs import RoundCost

THREE = ("north", "lake", "county")
FIVE = (*THREE, "river", "hill")
WEIGHT_MAX = 1000


def make_state(seed: int, dtype: Any = np.float32) -> dict[str, np.ndarray]:
    """A matrix, a vector and a number without axes, of very different scales."""
    rng = np.random.default_rng(seed)
    return {
        "matrix": rng.normal(size=(7, 5)).astype(dtype),
        "vector": (1e-3 * rng.normal(size=11)).astype(dtype),
        "number": np.asarray(30 * rng.normal(), dtype=dtype),
    }


def weighted_mean(states: Mapping[str, Mapping[str, Any]], weights: Mapping[str, int], name: str) -> np.ndarray:
    """The float mean of one tensor over the parties."""
    total = sum(weights.values())
    return sum(np.asarray(states[party][name], np.float64) * weights[party] for party in states) / total


def stated_bound(cost: RoundCost, name: str, value_bits: int = 16, weight_max: int = WEIGHT_MAX) -> float:
    """How far a value of the mean may be from the float one, rounding to the tensor's dtype apart."""
    scale = weight_max / cost.weight_sum
    return error_bound_sum(cost.bounds[name], value_bits, cost.party_count, scale=scale)


@pytest.fixture
def play_with() -> Callable[..., Federated]:
    """Runs `code` at three parties, or those given, with a small weight_max."""

    def play(code: Callable[[Party], Any], parties: tuple[str, ...] = THREE, **others: Any) -> Federated:
        return federate(code, parties, **{"weight_max": WEIGHT_MAX, **others})

    return play


@pytest.fixture(autouse=True)
def unsealed(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is sealed but in tests marked `sealed`, as in tests of protocols."""
    if request.node.get_closest_marker("sealed") is None:
        unseal(monkeypatch)
