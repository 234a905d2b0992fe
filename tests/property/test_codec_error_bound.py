"""The stated error bound holds for random and adversarial inputs, and half of it does not."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hekat.codec import Layout, error_bound_sum, make_layout, quantisation_step

LAYOUT_NAMES = ["balanced", "offset", "two_sign_bits"]
ROUNDINGS = ["nearest", "stochastic"]
ALPHAS = [1.0, 0.1, 3.3e-7, 1 / 3, 2.0**-960, 2.0**960, 7e200, 6.02e23]


def long(value: Any) -> Any:
    """A value of a parameter that only the long run has."""
    return pytest.param(value, marks=pytest.mark.long)


class _DrawsOfOneValue:
    """Stands in for a generator: every draw is the same, so that stochastic rounding can be driven to its extremes."""

    def __init__(self, draw: float) -> None:
        self._draw = draw

    def random(self, shape: tuple[int, ...]) -> np.ndarray:
        return np.full(shape, self._draw)


def decoded_sum(layout: Layout, x: np.ndarray, alpha: float, rounding: str, rng: object) -> np.ndarray:
    """What a run decodes for contributions x (addends, values): quantise each, add exactly, dequantise."""
    levels = np.stack([layout.quantise(row, alpha, rounding, rng) for row in x])  # type: ignore[arg-type]
    assert levels.min() >= layout.lowest
    assert levels.max() <= layout.highest
    return layout.dequantise(levels.sum(axis=0), alpha, len(x))


def layout_for(name: str, bits: int, addends: int) -> Layout:
    return make_layout(name, value_bits=bits, max_addends=addends, plaintext_bits=1023)


def adversarial_values(alpha: float, bits: int, name: str) -> np.ndarray:
    """Midpoints between levels, levels, zero and both ends, each with its float neighbours, inside [-alpha, alpha]."""
    step = quantisation_step(alpha, bits, name)
    intervals = round(2 * alpha / step)
    places = np.unique(np.linspace(0, intervals, 41).astype(np.int64))
    levels = -alpha + places * step
    x = np.concatenate([levels, levels + step / 2, [0.0, -0.0, alpha, -alpha, alpha * 2.0**-60]])
    x = np.concatenate([x, np.nextafter(x, np.inf), np.nextafter(x, -np.inf)])
    return np.clip(x, -alpha, alpha)


@pytest.mark.quick_values
@pytest.mark.parametrize("alpha", ALPHAS)
@pytest.mark.parametrize("bits", [1, 2, long(8), 16, long(24), 32])
@pytest.mark.parametrize("rounding", ROUNDINGS)
@pytest.mark.parametrize("name", LAYOUT_NAMES)
def test_bound_holds_against_exact_arithmetic(name: str, rounding: str, bits: int, alpha: float) -> None:
    x = adversarial_values(alpha, bits, name)
    for addends in (1, 5):
        layout = layout_for(name, bits, addends)
        bound = Fraction(error_bound_sum(alpha, bits, addends, rounding, name))  # type: ignore[arg-type]
        for rng in (_DrawsOfOneValue(0.0), _DrawsOfOneValue(1 - 2.0**-53), _DrawsOfOneValue(0.5)):
            decoded = decoded_sum(layout, np.tile(x, (addends, 1)), alpha, rounding, rng)
            for value, result in zip(x, decoded, strict=True):
                assert abs(Fraction(float(result)) - addends * Fraction(float(value))) <= bound


@pytest.mark.quick_values
@pytest.mark.parametrize("seed", [21, long(22)])
@pytest.mark.parametrize("addends", [1, 2, 9, 256])
@pytest.mark.parametrize("bits", [1, 2, 8, 16, 32])
@pytest.mark.parametrize("rounding", ROUNDINGS)
@pytest.mark.parametrize("name", LAYOUT_NAMES)
def test_bound_holds_for_random_sums_and_weighted_means(
    name: str, rounding: str, bits: int, addends: int, seed: int
) -> None:
    rng = np.random.default_rng([seed, bits, addends])
    alpha = float(rng.uniform(0.01, 3))
    x = np.clip(rng.normal(scale=alpha / 2, size=(addends, 400)), -alpha, alpha)
    weights = rng.integers(1, 1000, size=addends) / 1000
    weighted = x * weights[:, None]
    layout = layout_for(name, bits, addends)
    decoded = decoded_sum(layout, weighted, alpha, rounding, rng)
    in_another_order = weighted[rng.permutation(addends)].sum(axis=0)
    bound = error_bound_sum(alpha, bits, addends, rounding, name)  # type: ignore[arg-type]
    assert np.abs(decoded - in_another_order).max() <= bound
    weight_sum = float(weights.sum())
    mean_bound = error_bound_sum(alpha, bits, addends, rounding, name, scale=1 / weight_sum)  # type: ignore[arg-type]
    assert np.abs(decoded * (1 / weight_sum) - in_another_order / weight_sum).max() <= mean_bound


@pytest.mark.parametrize("name", LAYOUT_NAMES)
@pytest.mark.parametrize("bits", [16, 32])
def test_bound_holds_where_the_float_sum_itself_rounds_most(name: str, bits: int) -> None:
    addends, alpha = 65536, 1 / 3
    x = np.repeat([[alpha, alpha / 3, -alpha / 7, 0.0]], addends, axis=0)
    naive = np.zeros(4)
    for row in x:
        naive += row
    decoded = decoded_sum(layout_for(name, bits, addends), x[:1], alpha, "nearest", None)
    if name == "offset":
        levels = layout_for(name, bits, addends).quantise(x[0], alpha)
        decoded = layout_for(name, bits, addends).dequantise(levels * addends, alpha, addends)
    else:
        decoded = decoded * addends
    assert np.abs(decoded - naive).max() <= error_bound_sum(alpha, bits, addends, layout=name)


@pytest.mark.quick_values
@pytest.mark.parametrize("addends", [1, 3, 64])
@pytest.mark.parametrize("bits", [1, 2, 8, 16, 32])
@pytest.mark.parametrize("name", LAYOUT_NAMES)
def test_half_the_bound_is_too_small_for_nearest_rounding(name: str, bits: int, addends: int) -> None:
    alpha = 0.7
    x = np.tile(adversarial_values(alpha, bits, name), (addends, 1))
    error = np.abs(decoded_sum(layout_for(name, bits, addends), x, alpha, "nearest", None) - addends * x[0]).max()
    bound = error_bound_sum(alpha, bits, addends, "nearest", name)
    assert 0.99 * bound < error <= bound


@pytest.mark.quick_values
@pytest.mark.parametrize("addends", [1, 3, 64])
@pytest.mark.parametrize("bits", [1, 2, 8, 16])
@pytest.mark.parametrize("name", LAYOUT_NAMES)
def test_half_the_bound_is_too_small_for_stochastic_rounding(name: str, bits: int, addends: int) -> None:
    """Draws that all fall below a small fraction round every contributor up: nearly a whole step each."""
    alpha = 0.7
    step = quantisation_step(alpha, bits, name)
    x = np.full((addends, 1), -alpha + 0.05 * step)
    decoded = decoded_sum(layout_for(name, bits, addends), x, alpha, "stochastic", _DrawsOfOneValue(0.01))
    bound = error_bound_sum(alpha, bits, addends, "stochastic", name)
    assert 0.9 * bound < float(np.abs(decoded - addends * x[0])[0]) <= bound


@pytest.mark.parametrize("addends", [1, 9])
def test_offset_is_biased_by_half_a_step_at_zero_and_the_others_are_exact(addends: int) -> None:
    zeros = np.zeros((addends, 1))
    offset = decoded_sum(layout_for("offset", 8, addends), zeros, 1.0, "nearest", None)
    bound = error_bound_sum(1.0, 8, addends, "nearest", "offset")
    assert abs(offset[0]) == pytest.approx(addends / 255)
    assert 0.99 * bound < abs(offset[0]) <= bound
    for name in ("balanced", "two_sign_bits"):
        assert decoded_sum(layout_for(name, 8, addends), zeros, 1.0, "nearest", None)[0] == 0.0


@pytest.mark.long
@given(
    name=st.sampled_from(LAYOUT_NAMES),
    rounding=st.sampled_from(ROUNDINGS),
    bits=st.integers(1, 32),
    alpha=st.floats(2.0**-900, 2.0**900),
    fractions=st.lists(st.lists(st.floats(-1, 1), min_size=3, max_size=3), min_size=1, max_size=6),
    seed=st.integers(0, 2**32),
)
@settings(max_examples=300, deadline=None)
def test_bound_holds_for_anything(
    name: str, rounding: str, bits: int, alpha: float, fractions: list[list[float]], seed: int
) -> None:
    x = np.clip(np.array(fractions) * alpha, -alpha, alpha)
    layout = layout_for(name, bits, len(x))
    decoded = decoded_sum(layout, x, alpha, rounding, np.random.default_rng(seed))
    bound = Fraction(error_bound_sum(alpha, bits, len(x), rounding, name))  # type: ignore[arg-type]
    for column, result in zip(x.T, decoded, strict=True):
        exact = sum((Fraction(float(value)) for value in column), Fraction(0))
        assert abs(Fraction(float(result)) - exact) <= bound
