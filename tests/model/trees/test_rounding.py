"""Gradients as whole levels: bounds, means, and exactness of what is exact already."""

from __future__ import annotations

import numpy as np
import pytest

from hekat.errors import DivergedError, InputError
from hekat.model.trees import round_gradients

SEED = 20


def _derivatives(seed: int = SEED) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    return rng.normal(size=(2, 5_000)), rng.random((2, 5_000)) * 0.25


@pytest.mark.parametrize("bits", [2, 4, 6, 16, 32])
def test_levels_keep_to_their_bounds_and_stay_within_a_level(bits: int) -> None:
    first, second = _derivatives()
    levels = round_gradients(first, second, bits, np.random.PCG64(SEED))
    assert np.abs(levels.gradients).max(axis=1).tolist() == [2 ** (bits - 1)] * 2
    assert levels.hessians.min() >= 0
    assert levels.hessians.max(axis=1).tolist() == [2**bits] * 2
    assert (np.abs(levels.gradients * levels.gradient_scales[:, None] - first) < levels.gradient_scales[:, None]).all()
    assert (np.abs(levels.hessians * levels.hessian_scales[:, None] - second) < levels.hessian_scales[:, None]).all()


def test_chance_keeps_the_mean_that_the_nearest_level_loses() -> None:
    first = np.concatenate([np.full(40_000, 0.3), [8.0]])[None]
    by_chance = round_gradients(first, first, 4, np.random.PCG64(SEED)).gradients[0, :-1]
    nearest = round_gradients(first, first, 4, None).gradients[0, :-1]
    assert nearest.sum() == 0
    # Six standard deviations of the mean.
    assert abs(by_chance.mean() - 0.3) < 6 * np.sqrt(0.21 / 40_000)


def test_the_nearest_level_is_at_most_half_a_level_off() -> None:
    first, second = _derivatives()
    levels = round_gradients(first, second, 30, None)
    off = np.abs(levels.gradients * levels.gradient_scales[:, None] - first)
    assert (off <= 0.5001 * levels.gradient_scales[:, None]).all()


def test_a_constant_hessian_is_one() -> None:
    first = np.array([[-2.0, 1.0]])
    levels = round_gradients(first, np.ones_like(first), 4, None, has_constant_hessian=True)
    assert levels.hessians.tolist() == [[1, 1]]
    assert levels.hessian_scales.tolist() == [1.0]
    assert levels.gradients.tolist() == [[-8, 4]]


def test_gradients_of_zero_are_zero() -> None:
    zeros = np.zeros((1, 3))
    levels = round_gradients(zeros, zeros, 4, np.random.PCG64(SEED))
    assert not levels.gradients.any()
    assert not levels.hessians.any()


def test_a_stated_bound_is_the_largest_level() -> None:
    first, second = np.array([[0.5, -0.25]]), np.array([[0.125, 0.25]])
    bound = (np.array([1.0]), np.array([0.25]))
    levels = round_gradients(first, second, 4, None, largest=bound)
    assert levels.gradients.tolist() == [[4, -2]]
    assert levels.hessians.tolist() == [[8, 16]]
    with pytest.raises(InputError, match="beyond their stated bound"):
        round_gradients(first * 3, second, 4, None, largest=bound)
    with pytest.raises(InputError, match="beyond their stated bound"):
        round_gradients(first, second * 2, 4, None, largest=bound)


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_values_that_are_not_finite_are_refused(value: float) -> None:
    with pytest.raises(DivergedError):
        round_gradients(np.array([[1.0, value]]), np.ones((1, 2)), 4, None)


def test_levels_are_spread_over_rows() -> None:
    levels = round_gradients(np.array([[4.0, -8.0]]), np.array([[1.0, 2.0]]), 4, None).spread(np.array([1, 3]), 5)
    assert levels.gradients.tolist() == [[0, 4, 0, -8, 0]]
    assert levels.hessians.tolist() == [[0, 8, 0, 16, 0]]
