"""Levels, both roundings, one bit, the offset form, and their inverses."""

from __future__ import annotations

import numpy as np
import pytest

from hekat.codec import dequantise, dequantise_offset, level_bound, quantise, quantise_offset
from hekat.errors import InputError

ALL_BITS = [1, 2, 3, 8, 16, 24, 31, 32]


@pytest.mark.parametrize(("bits", "level"), [(1, 1), (2, 1), (3, 3), (8, 127), (16, 32767), (32, 2**31 - 1)])
def test_level_bound(bits: int, level: int) -> None:
    assert level_bound(bits) == level


@pytest.mark.parametrize("bits", [0, -1, 33, 8.0, True, "8"])
def test_bad_bits_are_refused(bits: object) -> None:
    with pytest.raises(InputError, match="bits per value"):
        level_bound(bits)  # type: ignore[arg-type]


@pytest.mark.quick_values
@pytest.mark.parametrize("rounding", ["nearest", "stochastic"])
@pytest.mark.parametrize("bits", ALL_BITS)
@pytest.mark.parametrize("alpha", [1.0, 0.3, 7e-5, 2.0**-960, 2.0**960, 1.1e100])
def test_both_ends_are_the_extreme_levels(bits: int, alpha: float, rounding: str) -> None:
    rng = np.random.default_rng(1)
    q = quantise(np.array([-alpha, alpha]), alpha, bits, rounding, rng)  # type: ignore[arg-type]
    level = level_bound(bits)
    # L / alpha rounds, so stochastic rounding may take the level next to the end, never one beyond it.
    slack = 1 if rounding == "stochastic" and bits > 1 else 0
    assert q.dtype == np.int64
    assert -level <= q[0] <= -level + slack
    assert level - slack <= q[1] <= level


@pytest.mark.parametrize("bits", [b for b in ALL_BITS if b > 1])
@pytest.mark.parametrize("rounding", ["nearest", "stochastic"])
def test_zero_is_exact(bits: int, rounding: str) -> None:
    assert not quantise(np.zeros(1000), 0.7, bits, rounding).any()  # type: ignore[arg-type]


def test_nearest_takes_ties_to_even() -> None:
    # alpha = L: one step is 1.0 and halves are exact.
    assert quantise(np.array([-2.5, -1.5, -0.5, 0.5, 1.5, 2.5]), 7.0, 4).tolist() == [-2, -2, 0, 0, 2, 2]


@pytest.mark.parametrize("bits", [2, 8, 16, 32])
def test_every_level_survives_the_round_trip(bits: int) -> None:
    level = level_bound(bits)
    q = np.unique(np.linspace(-level, level, 5001).astype(np.int64))
    for alpha in (1.0, 0.013, 5.5e7):
        np.testing.assert_array_equal(quantise(np.clip(dequantise(q, alpha, bits), -alpha, alpha), alpha, bits), q)


@pytest.mark.parametrize("bits", [1, 2, 8, 16, 32])
def test_every_offset_level_survives_the_round_trip(bits: int) -> None:
    q = np.unique(np.linspace(0, 2**bits - 1, 5001).astype(np.int64))
    for alpha in (1.0, 0.013, 5.5e7):
        x = np.clip(dequantise_offset(q, alpha, bits, 1), -alpha, alpha)
        np.testing.assert_array_equal(quantise_offset(x, alpha, bits), q)


def test_offset_form_is_the_papers_formula() -> None:
    x = np.array([-0.5, -0.1, 0.0, 0.25, 0.5])
    assert quantise_offset(x, 0.5, 8).tolist() == [0, 102, 128, 191, 255]
    np.testing.assert_allclose(dequantise_offset(np.array([0, 255, 510]), 0.5, 8, 2), [-1.0, 0.0, 1.0], atol=1e-15)


def test_one_bit_is_the_sign() -> None:
    assert quantise(np.array([-1.0, -1e-300, -0.0, 0.0, 1e-300, 1.0]), 1.0, 1).tolist() == [-1, -1, 1, 1, 1, 1]


@pytest.mark.quick_values
@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize("bits", [1, 2, 8, 16, 32])
@pytest.mark.parametrize("form", ["balanced", "offset"])
def test_stochastic_rounding_has_no_bias(bits: int, form: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    count = 100_000
    quantise_it = quantise if form == "balanced" else quantise_offset
    for x in (-0.93, -0.31, 0.1234567, 0.777):
        q = quantise_it(np.full(count, x), 1.0, bits, "stochastic", rng).astype(np.float64)
        step = (2 if bits == 1 else 1) if form == "balanced" else 1
        levels = level_bound(bits)
        exact = x * levels if form == "balanced" else (x + 1) * (2**bits - 1) / 2
        # Five standard errors of a value that is one of two neighbouring levels.
        assert abs(q.mean() - exact) < 5 * 0.5 * step / np.sqrt(count)
        assert len(np.unique(q)) <= 2


def test_stochastic_rounding_draws_fresh_randomness_by_default() -> None:
    x = np.full(256, 0.3)
    assert quantise(x, 1.0, 2, "stochastic").tolist() != quantise(x, 1.0, 2, "stochastic").tolist()


def test_stochastic_rounding_repeats_under_one_generator_seed() -> None:
    x = np.linspace(-1, 1, 99)
    first = quantise(x, 1.0, 4, "stochastic", np.random.default_rng(5))
    np.testing.assert_array_equal(first, quantise(x, 1.0, 4, "stochastic", np.random.default_rng(5)))


@pytest.mark.parametrize("quantise_it", [quantise, quantise_offset])
def test_values_beyond_alpha_are_refused_without_showing_them(quantise_it) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(InputError, match="1 of 3 beyond") as raised:
        quantise_it(np.array([0.1, 1.0625, -1.0]), 1.0, 8)
    assert "1.0625" not in str(raised.value)
    with pytest.raises(InputError, match="not finite"):
        quantise_it(np.array([np.nan]), 1.0, 8)
    with pytest.raises(InputError, match="rounding"):
        quantise_it(np.array([0.0]), 1.0, 8, "up")


def test_input_is_left_as_it_was_and_shape_is_kept() -> None:
    x = np.array([[0.5, -0.5]])
    assert quantise(x, 1.0, 8, "stochastic").shape == (1, 2)
    assert quantise_offset(x, 1.0, 8).shape == (1, 2)
    assert quantise(np.zeros((0, 4)), 1.0, 8).shape == (0, 4)
    np.testing.assert_array_equal(x, [[0.5, -0.5]])
