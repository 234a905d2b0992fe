"""quantise_levels and dequantise_sums: the numbers of clip, quantise and dequantise, block by block."""

from __future__ import annotations

import numpy as np
import pytest

from hekat.codec import clip, dequantise, level_bound, quantise
from hekat.codec.levels import BLOCK_VALUES, dequantise_sums, quantise_levels
from hekat.errors import InputError

SIZES = [0, 1, 7, BLOCK_VALUES - 1, BLOCK_VALUES, BLOCK_VALUES + 1, 3 * BLOCK_VALUES + 5]


def values_of(seed: int, size: int, dtype: type = np.float64) -> np.ndarray:
    return (np.random.default_rng(seed).standard_normal(size) * 0.4).astype(dtype)


@pytest.mark.quick_values
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("bits", [2, 8, 16, 24, 32])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_nearest_levels_are_those_of_clip_and_quantise(size: int, bits: int, dtype: type) -> None:
    alpha, level = 0.9, level_bound(bits)
    x = values_of(size + bits, size, dtype)
    out = np.full(size, 77, np.int32)
    limited_count = quantise_levels(x, level / alpha, level, out)
    clipped, _ = clip(x, alpha)
    np.testing.assert_array_equal(out, quantise(clipped, alpha, bits))
    # Limited after rounding: what rounds to the level itself is not counted.
    assert limited_count == np.count_nonzero(np.abs(np.rint(x.astype(np.float64) * (level / alpha))) > level)


@pytest.mark.parametrize("seed", [3, 4])
@pytest.mark.parametrize("bits", [2, 8, 16, 32])
def test_stochastic_levels_are_those_of_quantise_draw_for_draw(bits: int, seed: int) -> None:
    level = level_bound(bits)
    alpha = 0.9
    x = np.clip(values_of(seed, 2 * BLOCK_VALUES + 9), -0.89, 0.89)
    out = np.empty(x.size, np.int32)
    quantise_levels(x, level / alpha, level, out, "stochastic", np.random.default_rng(seed))
    np.testing.assert_array_equal(out, quantise(x, alpha, bits, "stochastic", np.random.default_rng(seed)))


def test_stochastic_levels_have_no_bias_and_are_fresh() -> None:
    x = np.full(200_000, 0.3)
    first, second = np.empty(x.size, np.int32), np.empty(x.size, np.int32)
    quantise_levels(x, 1.0, 1, first, "stochastic")
    quantise_levels(x, 1.0, 1, second, "stochastic")
    assert set(np.unique(first)) == {0, 1}
    # Eight standard errors of a fair count.
    assert abs(first.mean() - 0.3) < 8 * 0.5 / np.sqrt(x.size)
    assert (first != second).any()


@pytest.mark.parametrize("rounding", ["nearest", "stochastic"])
def test_what_lies_beyond_is_limited_and_counted(rounding: str) -> None:
    x = np.array([-1e300, -8.0, -7.0, 0.0, 7.0, 8.0, 1e300])
    out = np.empty(x.size, np.int32)
    assert quantise_levels(x, 1.0, 7, out, rounding) == 4  # type: ignore[arg-type]
    assert out.tolist() == [-7, -7, -7, 0, 7, 7, 7]
    # So do finite values that the factor takes beyond every float.
    assert quantise_levels(x, 1e100, 7, out, rounding) == 6  # type: ignore[arg-type]
    assert out.tolist() == [-7, -7, -7, 0, 7, 7, 7]


def test_limited_after_rounding() -> None:
    out = np.empty(4, np.int32)
    assert quantise_levels(np.array([7.4, 7.6, -7.4, -7.6]), 1.0, 7, out) == 2
    assert out.tolist() == [7, 7, -7, -7]


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("rounding", ["nearest", "stochastic"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_not_finite_is_refused_with_count_and_first_index(bad: float, rounding: str, dtype: type) -> None:
    x = np.full(3 * BLOCK_VALUES, 0.123456, dtype)
    first = BLOCK_VALUES + 17
    x[first] = x[-1] = bad
    with pytest.raises(InputError, match=rf"2 NaN or infinite of {x.size}, the first at index \({first},\)") as raised:
        quantise_levels(x, 1.0, 127, np.empty(x.size, np.int32), rounding)  # type: ignore[arg-type]
    assert "0.123" not in str(raised.value)


@pytest.mark.parametrize("factor", [0.0, -1.0, np.nan, np.inf])
def test_bad_factors_are_refused(factor: float) -> None:
    with pytest.raises(InputError, match="factor"):
        quantise_levels(np.zeros(3), factor, 7, np.empty(3, np.int32))
    with pytest.raises(InputError, match="factor"):
        dequantise_sums(np.zeros(3, np.int64), factor, np.empty(3))


def test_other_arguments_are_refused() -> None:
    x, out = np.zeros(3), np.empty(3, np.int32)
    for level in (0, -1, 1 << 31):
        with pytest.raises(InputError, match="level"):
            quantise_levels(x, 1.0, level, out)
    with pytest.raises(InputError, match="rounding"):
        quantise_levels(x, 1.0, 7, out, "up")  # type: ignore[arg-type]
    for values, target in ((x, out[:2]), (x.reshape(1, 3), out.reshape(1, 3)), (x, np.empty(3, np.int64))):
        with pytest.raises(InputError, match="fit each other"):
            quantise_levels(values, 1.0, 7, target)
    for no_numbers in (np.array(["a", "b", "c"]), np.zeros(3, bool), np.zeros(3, complex)):
        with pytest.raises(InputError, match="not real numbers"):
            quantise_levels(no_numbers, 1.0, 7, out)
    with pytest.raises(InputError, match="fit each other"):
        dequantise_sums(np.zeros(3, np.int64), 1.0, out)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="int64"):
        dequantise_sums(np.zeros(3, np.int32), 1.0, np.empty(3))  # type: ignore[arg-type]


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("bits", [8, 16, 32])
def test_sums_are_dequantised_as_whole_arrays_are(size: int, bits: int) -> None:
    sums = np.random.default_rng(size).integers(-(1 << 39), 1 << 39, size)
    alpha, level = 0.37, level_bound(bits)
    exact = dequantise(sums, alpha, bits)
    out64, out32 = np.empty(size), np.empty(size, np.float32)
    dequantise_sums(sums, alpha / level, out64)
    dequantise_sums(sums, alpha / level, out32)
    np.testing.assert_array_equal(out64, exact)
    np.testing.assert_array_equal(out32, exact.astype(np.float32))


def test_strided_vectors_are_taken() -> None:
    x, out = values_of(5, 2 * BLOCK_VALUES + 6), np.zeros(BLOCK_VALUES + 3, np.int32)
    quantise_levels(x[::2], 127 / 3, 127, out)
    back = np.zeros(2 * out.size)
    dequantise_sums(out.astype(np.int64), 3 / 127, back[::2])
    assert np.abs(back[::2] - x[::2]).max() <= 0.5 * 3 / 127 * (1 + 1e-9)
    assert not back[1::2].any()
