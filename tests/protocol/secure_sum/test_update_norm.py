"""Updates are scaled down to the bound on their norm, and a mean beyond what rounding explains is refused."""

from __future__ import annotations

import math

import numpy as np
import pytest

from hekat.errors import InputError, LongSumError
from hekat.privacy.norm import norm_of
from hekat.protocol.secure_sum.aggregation import Aggregate
from hekat.protocol.secure_sum.settings import CodecSettings, SumSettings
from hekat.protocol.secure_sum.update_norm import SCALED_DOWN, UpdateNorm

PARTIES = ("north", "lake", "county")


def norm_with(max_norm: float, **codec: object) -> UpdateNorm:
    settings = SumSettings(PARTIES, "aggregator", 100, codec=CodecSettings(max_norm=max_norm, **codec))
    return UpdateNorm(settings)


class Streamed:
    """Values behind two calls, and the mean that was written."""

    def __init__(self, values: np.ndarray) -> None:
        self.values, self.mean = values, np.zeros(values.size)
        self.shape, self.size = values.shape, values.size

    def read(self, start: int, stop: int) -> np.ndarray:
        return self.values[start:stop]

    def write_mean(self, start: int, mean: np.ndarray) -> None:
        self.mean[start : start + mean.size] = mean


def test_an_update_keeps_its_direction_and_gets_the_length_of_the_bound() -> None:
    update = {"a": np.array([3.0, 0.0]), "b": np.array([[4.0]])}
    limited, factor = norm_with(1.0).limit(update)
    assert factor == pytest.approx(0.2)
    assert norm_of(limited) == pytest.approx(1.0)
    np.testing.assert_allclose(limited["b"], [[0.8]])
    assert update["b"][0, 0] == 4.0


@pytest.mark.parametrize("most", [5.0, 6.0, 0.0])
def test_an_update_within_the_bound_or_without_one_stays(most: float) -> None:
    update = {"a": np.array([3.0, 4.0])}
    norm = norm_with(most)
    limited, factor = norm.limit(update)
    assert limited is update
    assert factor == 1.0
    assert [counter.value for counter in norm.counters_for(factor)] == ([0] if most else [])


def test_the_number_of_updates_that_were_scaled_is_counted() -> None:
    (counter,) = norm_with(1.0).counters_for(0.5)
    assert (counter.name, counter.value, counter.maximum) == (SCALED_DOWN, 1, 1)


def mean_of(norm: float, weight_sum: int = 300, party_count: int = 3) -> Aggregate:
    return Aggregate({"a": np.array([norm])}, weight_sum, {}, party_count)


def test_a_mean_as_long_as_the_bound_passes_and_a_longer_one_does_not() -> None:
    norm, bounds = norm_with(2.0), {"a": 1.0}
    norm.check("round-1", mean_of(2.0), bounds)
    with pytest.raises(LongSumError, match=r"^the sum of round-1 is longer .* expected a mean of norm 2\.0") as caught:
        norm.check("round-1", mean_of(2.001), bounds)
    assert "2.001" not in str(caught.value)
    norm_with(0.0).check("round-1", mean_of(1e9), bounds)


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_a_mean_that_is_no_number_is_refused(value: float) -> None:
    with pytest.raises(LongSumError):
        norm_with(2.0).check("round-1", mean_of(value), {"a": math.inf})


def test_rounding_of_all_parties_is_allowed_and_no_more() -> None:
    """At 8 bits each of 3 parties is off by half a step of 1/127: the mean of weights 100 by as much."""
    norm, bounds = norm_with(0.1, value_bits=8), {"a": 1.0}
    norm.check("round-1", mean_of(0.1 + 0.5 / 127), bounds)
    with pytest.raises(LongSumError):
        norm.check("round-1", mean_of(0.1 + 0.51 / 127), bounds)


def test_a_small_weight_sum_excuses_no_mean_of_more_than_twice_the_bound() -> None:
    """Who lowers the sum of weights makes rounding count for more: to 33 times the bound here."""
    norm, bounds = norm_with(0.1, value_bits=8), {"a": 1.0}
    tampered = mean_of(0.2001, weight_sum=3)
    with pytest.raises(LongSumError, match=r"raise codec\.value_bits"):
        norm.check("round-1", tampered, bounds)
    norm.check("round-1", mean_of(0.1999, weight_sum=3), bounds)


def test_streams_are_limited_and_measured_as_arrays_are() -> None:
    rng = np.random.default_rng(1)
    values = {name: rng.normal(size=70_000).astype(np.float32) for name in ("a", "b")}
    norm = norm_with(1.0)
    streams = {name: Streamed(one) for name, one in values.items()}
    limited, factor = norm.limit_streamed(dict(streams))
    arrays, expected = norm.limit({name: one.astype(np.float64) for name, one in values.items()})
    assert factor == pytest.approx(expected)
    np.testing.assert_allclose(limited["a"].read(5, 9), arrays["a"][5:9], rtol=1e-6)
    bounds, aggregate = dict.fromkeys(streams, 0.01), Aggregate({}, 300, {}, 3)
    for _ in range(2):  # an upload that is repeated writes its mean again
        for name, tensor in limited.items():
            for start in (0, 40_000):
                tensor.write_mean(start, arrays[name][start : start + 40_000])
    np.testing.assert_array_equal(streams["b"].mean, arrays["b"])
    norm.check_streamed("round-1", aggregate, limited, bounds)
    limited["a"].write_mean(0, 3 * arrays["a"][:40_000])
    with pytest.raises(LongSumError):
        norm.check_streamed("round-1", aggregate, limited, bounds)


@pytest.mark.parametrize("most", [-1.0, math.nan, math.inf, 2.0**-41, 2.0**41])
def test_a_bound_that_cannot_be_is_refused(most: float) -> None:
    with pytest.raises(InputError, match=r"codec\.max_norm"):
        norm_with(most)
