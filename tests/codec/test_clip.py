"""clip and quantile_alpha: limits, counts, and refusals that never show a value."""

from __future__ import annotations

import numpy as np
import pytest

from hekat.codec import clip, quantile_alpha
from hekat.codec.clip import MAX_ALPHA, MIN_ALPHA
from hekat.errors import InputError


def test_values_beyond_alpha_are_limited_and_counted() -> None:
    x = np.array([[-3.0, -2.0, -1.9], [0.0, 2.0, 2.0000001]])
    clipped, beyond = clip(x, 2.0)
    assert beyond == 2
    np.testing.assert_array_equal(clipped, [[-2.0, -2.0, -1.9], [0.0, 2.0, 2.0]])


def test_nothing_beyond_returns_a_copy() -> None:
    x = np.array([0.5, -0.25])
    clipped, beyond = clip(x, 1.0)
    assert beyond == 0
    np.testing.assert_array_equal(clipped, x)
    clipped[0] = 7.0
    assert x[0] == 0.5


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int32, np.int64])
def test_result_is_float64(dtype: type) -> None:
    clipped, beyond = clip(np.array([1, -5, 3], dtype=dtype), 4)
    assert clipped.dtype == np.float64
    assert clipped.tolist() == [1.0, -4.0, 3.0]
    assert beyond == 1


def test_empty_array() -> None:
    clipped, beyond = clip(np.zeros((0, 3)), 1.0)
    assert clipped.shape == (0, 3)
    assert beyond == 0


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_not_finite_is_refused_with_count_and_first_index(bad: float) -> None:
    x = np.full((4, 5), 0.123456)
    x[2, 3] = bad
    x[3, 0] = bad
    with pytest.raises(InputError, match=r"2 NaN or infinite of 20, the first at index \(2, 3\)") as raised:
        clip(x, 1.0)
    assert "0.123456" not in str(raised.value)


@pytest.mark.parametrize("bad", [["a", "b"], [1j], [None], [True, False]])
def test_not_numbers_are_refused(bad: list[object]) -> None:
    with pytest.raises(InputError, match="not real numbers"):
        clip(np.array(bad), 1.0)


@pytest.mark.parametrize("alpha", [0.0, -0.0, -1.0, np.nan, np.inf, -np.inf, 5e-324, 1e300, True, "1", None])
def test_bad_alpha_is_refused(alpha: object) -> None:
    with pytest.raises(InputError, match="alpha was refused"):
        clip(np.zeros(3), alpha)  # type: ignore[arg-type]


@pytest.mark.parametrize("alpha", [MIN_ALPHA, MAX_ALPHA, np.float32(0.5), np.int64(2), 3])
def test_alpha_at_the_limits_is_taken(alpha: float) -> None:
    clipped, beyond = clip(np.array([float(alpha), -float(alpha)]), alpha)
    assert beyond == 0
    assert clipped[0] == alpha


@pytest.mark.parametrize(("fraction", "alpha"), [(0.1, 1.0), (0.9, 9.0), (0.91, 10.0), (1.0, 10.0), (1e-6, 1.0)])
def test_quantile_keeps_at_least_the_fraction(fraction: float, alpha: float) -> None:
    x = np.array([-1.0, 2, -3, 4, -5, 6, -7, 8, -9, 10])
    assert quantile_alpha(x, fraction) == alpha
    assert clip(x, alpha)[1] <= (1 - fraction) * x.size + 1e-9


def test_quantile_of_zeros_uses_the_fixed_alpha() -> None:
    assert quantile_alpha(np.zeros(9), 0.5, fixed_alpha=0.25) == 0.25
    assert quantile_alpha(np.zeros(0), 0.5, fixed_alpha=0.25) == 0.25
    with pytest.raises(InputError, match="fixed_alpha"):
        quantile_alpha(np.zeros(9), 0.5)


@pytest.mark.parametrize("fraction", [0.0, -0.1, 1.1, float("nan")])
def test_bad_fraction_is_refused(fraction: float) -> None:
    with pytest.raises(InputError, match="fraction"):
        quantile_alpha(np.ones(3), fraction)
