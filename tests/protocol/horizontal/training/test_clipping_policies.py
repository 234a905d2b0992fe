"""Clipping bounds: exponents, the first bound, how it follows the values, and what each policy asks of the others."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hekat.errors import InputError
from hekat.protocol.horizontal.training.clipping import (
    LEAST_EXPONENT,
    MOST_EXPONENT,
    AdaptiveClipping,
    FittedClipping,
    FixedClipping,
    Unclipped,
    exponent_counters,
    exponents_of,
    make_policy,
    total_clipped,
)
from hekat.protocol.secure_sum.aggregation import Alone
from hekat.protocol.secure_sum.settings import MAX_ALPHA, MIN_ALPHA, CodecSettings


class Packing(Alone):
    """One party alone whose sums are packed, so that bounds matter."""

    clips = True

    def __init__(self) -> None:
        self.steps: list[str] = []

    def weighted_mean(self, request):
        self.steps.append(request.step)
        return super().weighted_mean(request)


@pytest.mark.parametrize(
    ("value", "exponent"),
    [
        (0.0, LEAST_EXPONENT),
        (-0.0, LEAST_EXPONENT),
        (1.0, 0),
        (-1.0, 0),
        (np.nextafter(1.0, 2), 1),
        (np.nextafter(1.0, 0), 0),
        (0.75, 0),
        (0.5, -1),
        (2.0**-40, -40),
        (-(2.0**30), 30),
        (5e-324, -1074),
        (2.0**-1022, -1022),
        (1.7976931348623157e308, 1024),
    ],
)
def test_exponent_is_the_least_power_of_two_that_covers(value, exponent) -> None:
    assert exponents_of(np.array([value])).tolist() == [exponent]


@given(st.floats(allow_nan=False, allow_infinity=False, min_value=2.0**-1000, max_value=2.0**1000))
def test_exponent_covers_and_the_one_below_does_not(value) -> None:
    exponent = int(exponents_of(np.array([value]))[0])
    assert math.ldexp(1, exponent - 1) < value <= math.ldexp(1, exponent)


def test_every_value_is_counted_once_whatever_its_size() -> None:
    values = np.array([[0.0, 1e-300, 5e-324, 1.0], [-3.0, 1e300, 2.0**41, -(2.0**-41)]])
    counters = exponent_counters({"t": values})
    assert len(counters) == MOST_EXPONENT - LEAST_EXPONENT + 1
    counts = {counter.name: counter.value for counter in counters if counter.value}
    assert counts == {
        "exponent/t/-40": 1,
        "exponent/t/-39": 3,
        "exponent/t/0": 1,
        "exponent/t/2": 1,
        "exponent/t/40": 2,
    }
    assert all(counter.maximum == values.size for counter in counters)


@pytest.mark.parametrize(
    ("values", "target", "bound"),
    [
        ([0.3, 0.2, -0.9], 0.001, 1.0),
        ([1.0, 0.1], 0.001, 1.0),
        ([1.0000001, 0.1], 0.001, 2.0),
        ([1000.0] + [0.25] * 999, 0.001, 0.25),
        ([1000.0, 1000.0] + [0.25] * 998, 0.001, 1024.0),
        ([1e300, 0.1], 0.001, 2.0**40),
    ],
)
def test_the_first_bound_leaves_at_most_the_target_fraction_beyond(values, target, bound) -> None:
    aggregation = Packing()
    policy = AdaptiveClipping(target, None)
    scaled = {"t": np.array(values)}
    assert policy.bounds_for(aggregation, "round-1", scaled) == {"t": bound}
    assert policy.bounds_for(aggregation, "round-2", scaled) == {"t": bound}
    assert aggregation.steps == ["round-1/exponents"]


def test_a_tensor_of_zeros_starts_with_the_bound_of_the_others() -> None:
    policy = AdaptiveClipping(0.001, None)
    scaled = {"bias": np.zeros(1), "weight": np.array([0.3, 3.0])}
    assert policy.bounds_for(Packing(), "round-1", scaled) == {"bias": 4.0, "weight": 4.0}
    nothing = AdaptiveClipping(0.001, None)
    assert nothing.bounds_for(Packing(), "round-1", {"bias": np.zeros(2)}) == {"bias": 1.0}


def test_a_tensor_of_small_values_does_not_pass_for_one_of_zeros() -> None:
    """From the bound of zeros it would lose every value for as many rounds as that takes to halve."""
    policy = AdaptiveClipping(0.001, None)
    scaled = {"small": np.full(3, 1e-14), "weight": np.array([0.3, 3.0])}
    assert policy.bounds_for(Packing(), "round-1", scaled) == {"small": 2.0**-39, "weight": 4.0}


def follow(policy: AdaptiveClipping, values: np.ndarray, party_count: int = 3) -> float:
    scaled = {"t": values}
    bounds = policy.bounds_for(Packing(), "round-1", scaled)
    sums = {counter.name: party_count * counter.value for counter in policy.counters_for(scaled, bounds, party_count)}
    policy.learn(sums, {"t": values.size}, party_count)
    return policy.known["t"]


def test_bounds_double_halve_leap_and_rest() -> None:
    policy = AdaptiveClipping(0.001, 1.0)
    few_beyond = np.array([0.5] * 9 + [1.5])
    assert follow(policy, few_beyond) == 2.0
    assert follow(policy, few_beyond) == 2.0, "values between a quarter and all of it leave the bound alone"
    assert follow(policy, np.full(10, 0.5)) == 1.0, "none beyond a quarter of it halves the bound"
    assert follow(policy, np.full(10, 100.0)) == 16.0, "most values beyond it: sixteen times as much"


@pytest.mark.parametrize("size", [1e-9, 1e-3, 1.0, 1e6])
def test_bounds_settle_within_a_factor_of_four(size) -> None:
    policy = AdaptiveClipping(0.001, 1.0)
    rng = np.random.default_rng(4)
    for _ in range(60):
        follow(policy, rng.uniform(-size, size, 500))
    assert size / 2 <= policy.known["t"] <= 8 * size


def test_bounds_stay_in_their_range() -> None:
    policy = AdaptiveClipping(0.001, 1.0)
    for _ in range(60):
        follow(policy, np.zeros(4))
    assert policy.known["t"] == MIN_ALPHA
    for _ in range(60):
        follow(policy, np.full(4, 1e200))
    assert policy.known["t"] == MAX_ALPHA


def test_bounds_of_a_checkpoint_are_taken_up_without_asking() -> None:
    aggregation = Packing()
    policy = make_policy(CodecSettings(), aggregation, {"t": 0.125})
    assert policy.bounds_for(aggregation, "round-5", {"t": np.ones(2)}) == {"t": 0.125}
    assert aggregation.steps == []


def test_fixed_clipping_counts_honestly() -> None:
    policy = make_policy(CodecSettings(clipping="fixed", alpha=0.5), Packing())
    scaled = {"a": np.array([0.5, -0.5, 0.6, -9.0]), "b": np.array([0.1])}
    bounds = policy.bounds_for(Packing(), "round-1", scaled)
    counters = policy.counters_for(scaled, bounds, 3)
    assert bounds == {"a": 0.5, "b": 0.5}
    assert {counter.name: counter.value for counter in counters} == {"clipped/a": 2, "clipped/b": 0}
    assert total_clipped({counter.name: counter.value for counter in counters}, ["a", "b"]) == 2


def test_each_name_makes_its_policy() -> None:
    assert isinstance(make_policy(CodecSettings(), Packing()), AdaptiveClipping)
    assert type(make_policy(CodecSettings(clipping="fixed", alpha=1.0), Packing())) is FixedClipping
    assert isinstance(make_policy(CodecSettings(clipping="daciq"), Packing()), FittedClipping)
    assert isinstance(make_policy(CodecSettings(), Alone()), Unclipped)
    with pytest.raises(InputError, match=r"codec\.alpha"):
        make_policy(CodecSettings(clipping="fixed"), Packing())
