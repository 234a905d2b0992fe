"""Sensitivity with rounding, noise a party and room in lanes, against the design's figures and against draws."""

from __future__ import annotations

import math

import numpy as np
import pytest

from hekat.errors import InputError
from hekat.privacy.accounting import fit_to_lane, sensitivity_of, sum_error
from hekat.privacy.accounting.mechanism import LEAST_STD, NoisedSum


def _fit(**changes: float) -> NoisedSum:
    lane = {"clip": 1.0, "alpha": 1.0, "value_count": 88_648, "lane_bits": 14}
    return fit_to_lane(**{**lane, "noise": 1.0, "honest": 6, "party_count": 10, **changes})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("value_count", "noise", "bits", "roots"),
    [
        (88_648, 1.0, 14, 3.5),
        (88_648, 4.0, 16, 3.5),
        (12_600_000, 1.0, 16, 1.5),
        (12_600_000, 1.0, 17, 3.5),
        (12_600_000, 2.0, 17, 1.5),
        (12_600_000, 2.0, 18, 3.5),
    ],
)
def test_lanes_of_the_design_hold_their_noise(value_count: int, noise: float, bits: int, roots: float) -> None:
    found = _fit(value_count=value_count, noise=noise, lane_bits=bits)
    assert found.levels >= roots * math.sqrt(value_count)
    assert found.coordinate_bound + found.noise_limit <= 2 ** (bits - 1) - 1
    assert found.std <= math.sqrt(found.law.variance)
    assert found.law.limit <= found.noise_limit


def test_one_level_more_would_not_fit() -> None:
    found = _fit()
    more = NoisedSum(1.0, 1.0, 88_648, found.levels + 1, 1.0, 6, 10, 14)
    assert more.coordinate_bound + more.noise_limit > 2**13 - 1


def test_rounding_costs_what_the_design_says() -> None:
    """3.5 sqrt(d) costs 1.4 % more noise, 1.5 sqrt(d) 6.5 %."""
    root = math.sqrt(88_648)
    assert sensitivity_of(round(3.5 * root), 88_648) / (3.5 * root) == pytest.approx(1.014, abs=1e-3)
    assert sensitivity_of(round(1.5 * root), 88_648) / (1.5 * root) == pytest.approx(1.065, abs=1e-3)


@pytest.mark.parametrize("value_count", [1, 3, 100, 10_000])
def test_a_rounded_vector_keeps_to_the_sensitivity(value_count: int) -> None:
    """Draws of randomised rounding of vectors of norm c, spread out and all in one value (seed 5)."""
    rng = np.random.default_rng(5)
    for levels in (1, 10, 100):
        for vector in (rng.standard_normal((50, value_count)), np.eye(1, value_count) * np.ones((50, 1))):
            scaled = vector / np.linalg.norm(vector, axis=1, keepdims=True) * levels
            moved = np.floor(scaled + rng.uniform(size=scaled.shape))
            assert np.linalg.norm(moved, axis=1).max() <= sensitivity_of(levels, value_count)


def test_noise_of_the_honest_parties_alone_has_the_claimed_size() -> None:
    found = _fit(noise=2.0, lane_bits=15)
    assert math.sqrt(found.honest) * found.std == pytest.approx(2.0 * found.sensitivity)
    assert found.noise_against(1, 7) == pytest.approx(2.0)  # u_min 7, one colluder: h = 6
    assert found.noise_against(5, 7) == pytest.approx(2.0 / math.sqrt(3))
    assert found.noise_against(7, 7) == 0


def test_a_lane_without_room_is_refused_and_the_bits_with_room_are_named() -> None:
    with pytest.raises(InputError, match="lanes of 8 bits cannot hold the noise") as refused:
        _fit(lane_bits=8)
    bits = int(refused.value.cure.removeprefix("set codec.value_bits = "))
    _fit(lane_bits=bits)
    with pytest.raises(InputError):
        _fit(lane_bits=bits - 1)


def test_noise_too_small_for_a_sum_of_discrete_gaussians_is_refused() -> None:
    """One value, c of 100 levels and hardly any noise: s is below 4."""
    with pytest.raises(InputError, match="cannot hold the noise"):
        _fit(value_count=1, noise=0.01, lane_bits=8, honest=6)
    assert _fit(value_count=1, noise=0.01, lane_bits=14).std >= LEAST_STD


def test_sums_of_discrete_gaussians_are_as_near_to_one_as_the_design_says() -> None:
    assert sum_error(2.0, 1000) < 1e-13
    assert sum_error(4.0, 1000) < 1e-65
    assert sum_error(1.0, 10) > 1e-4  # so that the bounds above say something
