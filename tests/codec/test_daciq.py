"""dACIQ: the stored table against its derivation, the derivation against Eq. 1 integrated another way."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from hekat.codec import clip, daciq_alpha, daciq_sigma, dequantise, derive_daciq_ratio, quantise
from hekat.codec import daciq as daciq_module
from hekat.codec.daciq import DACIQ_RATIO
from hekat.codec.quantise import level_interval_count
from hekat.errors import InputError


def mean_squared_error(alpha: float, bits: int) -> float:
    """Eq. 1 for sigma = 1 from its definition: a fine midpoint sum over x, level by level, plus both exact tails."""
    intervals = level_interval_count(bits)
    levels = np.linspace(-alpha, alpha, intervals + 1)
    points = max(400, 40_000 // intervals)
    width = (levels[1] - levels[0]) / points
    x = levels[:-1, None] + (np.arange(points)[None, :] + 0.5) * width
    below, above = levels[:-1, None], levels[1:, None]
    density = np.exp(-x * x / 2) / math.sqrt(2 * math.pi)
    delta = above - below
    noise = (x - below) ** 2 * ((above - x) / delta) + (x - above) ** 2 * ((x - below) / delta)
    tail = (alpha**2 + 1) * math.erfc(alpha / math.sqrt(2)) / 2
    tail -= alpha * math.exp(-alpha * alpha / 2) / math.sqrt(2 * math.pi)
    return float(np.sum(density * noise) * width) + 2 * tail


def test_stored_table_is_the_derived_one() -> None:
    assert len(DACIQ_RATIO) == 32
    for bits, stored in enumerate(DACIQ_RATIO, start=1):
        assert derive_daciq_ratio(bits) == pytest.approx(stored, abs=1e-9)


@pytest.mark.parametrize("bits", [1, 2, 3, 4, 6, 8])
def test_derived_ratio_minimises_the_error_of_eq_1(bits: int) -> None:
    best = derive_daciq_ratio(bits)
    least = mean_squared_error(best, bits)
    for factor in (0.5, 0.9, 0.99, 0.999, 1.001, 1.01, 1.1, 2.0):
        assert mean_squared_error(best * factor, bits) > least


@pytest.mark.parametrize("bits", [2, 4, 6])
def test_mean_squared_error_of_eq_1_is_what_quantising_gaussians_costs(bits: int) -> None:
    rng = np.random.default_rng(3)
    x = rng.normal(size=400_000)
    alpha = derive_daciq_ratio(bits)
    clipped, _ = clip(x, alpha)
    decoded = dequantise(quantise(clipped, alpha, bits, "stochastic", rng), alpha, bits)
    assert np.mean((x - decoded) ** 2) == pytest.approx(mean_squared_error(alpha, bits), rel=0.03)


@pytest.mark.parametrize("bits", [9, 10])
def test_smooth_form_joins_the_exact_one(bits: int, monkeypatch: pytest.MonkeyPatch) -> None:
    exact = derive_daciq_ratio(bits)
    monkeypatch.setattr(daciq_module, "_SMOOTH_BITS", 1)
    assert derive_daciq_ratio(bits) == pytest.approx(exact, abs=1e-8)


def test_ratio_grows_with_bits() -> None:
    assert all(a < b for a, b in itertools.pairwise(DACIQ_RATIO))


def test_printed_closed_form_has_another_minimum() -> None:
    """The approximation printed under Eq. 1: one tail, and Delta = 2 alpha / 2^r. Its slope is not zero at ours."""

    def printed(a: float, r: int) -> float:
        tail = (a * a + 1) / 2 * (1 - math.erf(a / math.sqrt(2))) - a * math.exp(-a * a / 2) / math.sqrt(2 * math.pi)
        return tail + 2 * a * a * (2**r - 2) / (3 * 2 ** (3 * r))

    assert printed(1.478, 2) < printed(derive_daciq_ratio(2), 2)
    assert printed(3.617, 8) < printed(derive_daciq_ratio(8), 8)


@pytest.mark.parametrize(("size", "seed"), [(1000, 0), (101_770, 1), (1_000_000, 2)])
def test_sigma_of_gaussians_is_found_from_their_range(size: int, seed: int) -> None:
    x = 0.02 * np.random.default_rng(seed).normal(size=size)
    assert daciq_sigma(float(x.min()), float(x.max()), size) == pytest.approx(0.02, rel=0.2)


def test_alpha_is_table_times_sigma_over_all_parties_values() -> None:
    sigma = 2.0 * 0.175 * (1 + math.sqrt(math.pi * math.log(4))) / math.sqrt(2 * math.log(500 * 9))
    assert daciq_alpha(-0.5, 1.5, 500, 9, 8) == pytest.approx(3.768070989 * sigma, rel=1e-12)


def test_one_value_or_no_range_falls_back_to_the_fixed_alpha() -> None:
    assert daciq_alpha(0.1, 0.2, 1, 1, 8, fixed_alpha=0.5) == 0.5
    assert daciq_alpha(0.3, 0.3, 100, 4, 8, fixed_alpha=0.5) == 0.5
    with pytest.raises(InputError, match="fixed_alpha"):
        daciq_alpha(0.3, 0.3, 100, 4, 8)


@pytest.mark.parametrize(
    ("minimum", "maximum", "count", "parties", "bits"),
    [
        (1.0, 0.0, 9, 2, 8),
        (0.0, math.inf, 9, 2, 8),
        (math.nan, 1.0, 9, 2, 8),
        (0.0, 1.0, 0, 2, 8),
        (0.0, 1.0, 9, 0, 8),
        (0.0, 1.0, 9, 2, 0),
        (0.0, 1.0, 9, 2, 33),
    ],
)
def test_bad_input_is_refused(minimum: float, maximum: float, count: int, parties: int, bits: int) -> None:
    with pytest.raises(InputError):
        daciq_alpha(minimum, maximum, count, parties, bits, fixed_alpha=1.0)
