"""Conformance: numbers of discrete Gaussians are what decimals make of OpenSSL's key stream, and so distributed."""

from __future__ import annotations

from decimal import Decimal, localcontext
from fractions import Fraction
from math import sqrt

import numpy as np
import pytest

from hekat.engine.ring.gaussian import BLOCK_NUMBERS, DiscreteGaussian

KEY = bytes.fromhex("5c" * 16 + "e3" * 16)
# The smallest, those around a doubling, an odd one, and the largest.
VARIANCES = {
    "4": Fraction(4),
    "16 less a step": Fraction(16) - Fraction(1, 1 << 32),
    "16": Fraction(16),
    "4096.3": Fraction(40963, 10),
    "2^83": Fraction(1 << 83),
}
# Around one block and two, and where the last words of a stream's run are met.
COUNTS = [1, 7, BLOCK_NUMBERS - 1, BLOCK_NUMBERS, BLOCK_NUMBERS + 1, 2 * BLOCK_NUMBERS + 9]


def expected_block(oracle, block, count, variance):
    """The contract in decimals of fifty digits: no comparison of words of 64 bits comes near them."""
    with localcontext(prec=50):
        k = 0
        while variance / 4**k >= 16:
            k += 1
        base = Decimal((variance / 4**k).numerator) / (variance / 4**k).denominator
        limit = int((Decimal(100) * base * 4**k).sqrt())
        weights = [(-Decimal(j * j) / (2 * base)).exp() for j in range(int((100 * base).sqrt()) + 1)]
        chances = [sum(weights[: j + 1]) / sum(weights) for j in range(len(weights) - 1)]
        u, v, r = (
            part.ravel().tolist()
            for part in np.moveaxis(oracle.words(KEY, 2**32 - 2, block, 4608).reshape(-1, 3, 8), 1, 0)
        )
        one, numbers = Decimal(1 << 64), []
        for t in range(len(u)):
            z = sum(u[t] / one >= chance for chance in chances)
            y = r[t] % 2**k
            x = 2**k * z + y
            is_kept = v[t] / one < (-Decimal(y * (y + 2 ** (k + 1) * z)) / (2 * base * 4**k)).exp()
            if is_kept and x <= limit and (x, r[t] >> 63) != (0, 1):
                numbers.append(-x if r[t] >> 63 else x)
            if len(numbers) == count:
                return numbers
    raise AssertionError("too few tries")


@pytest.mark.parametrize("variance", VARIANCES.values(), ids=VARIANCES)
def test_numbers_are_those_of_the_contract(engine, oracle, variance):
    law = DiscreteGaussian.of_at_least(variance)
    assert variance <= law.variance <= variance * (1 + Fraction(1, 1 << 34))
    found = engine.sample_discrete_gaussian(KEY, 5, 300, law)
    assert (found.dtype, found.shape) == (np.int64, (300,))
    assert found.tolist() == expected_block(oracle, 5, 300, law.variance)


@pytest.mark.quick_values
@pytest.mark.parametrize("first_block", [0, 2**32 - 1, 2**64 - 3])
def test_blocks_have_streams_of_their_own(engine, first_block):
    law = DiscreteGaussian.of_at_least(Fraction(1000))
    whole = engine.sample_discrete_gaussian(KEY, first_block, 3 * BLOCK_NUMBERS, law)
    for number in range(3):
        own = engine.sample_discrete_gaussian(KEY, first_block + number, BLOCK_NUMBERS, law)
        assert np.array_equal(own, whole[number * BLOCK_NUMBERS : (number + 1) * BLOCK_NUMBERS])


@pytest.mark.quick_values
@pytest.mark.parametrize("count", COUNTS)
def test_fewer_numbers_are_the_first_ones(engine, count):
    law = DiscreteGaussian.of_at_least(Fraction(1 << 20))
    whole = engine.sample_discrete_gaussian(KEY, 9, 3 * BLOCK_NUMBERS, law)
    assert np.array_equal(engine.sample_discrete_gaussian(KEY, 9, count, law), whole[:count])


def test_no_numbers_and_keys_that_can_be_wiped(engine):
    law = DiscreteGaussian.of_at_least(Fraction(50))
    assert engine.sample_discrete_gaussian(KEY, 3, 0, law).shape == (0,)
    of_bytes = engine.sample_discrete_gaussian(KEY, 3, 40, law)
    assert np.array_equal(engine.sample_discrete_gaussian(bytearray(KEY), 3, 40, law), of_bytes)


def law_of(variance):
    """The chances of -limit to limit, by exponentials."""
    limit = int(10 * sqrt(variance))
    weights = np.exp(-(np.arange(-limit, limit + 1) ** 2) / (2 * variance))
    return weights / weights.sum()


def test_numbers_follow_their_law_at_four(engine):
    """Chi square at s = 4, within seven standard deviations of its mean; the key is fixed."""
    count = 8 * BLOCK_NUMBERS if engine.name == "reference" else 1 << 19
    numbers = engine.sample_discrete_gaussian(KEY, 0, count, DiscreteGaussian.of_at_least(Fraction(16)))
    expected = law_of(16.0) * count
    counts = np.bincount(numbers + 40, minlength=81)
    common = np.flatnonzero(expected >= 10)
    first, last = common[0], common[-1]
    bins = [slice(0, first + 1), *(slice(i, i + 1) for i in common[1:-1]), slice(last, None)]
    freedom = len(bins) - 1
    statistic = sum((counts[b].sum() - expected[b].sum()) ** 2 / expected[b].sum() for b in bins)
    print(f"chi square {statistic:.1f} with {freedom} degrees of freedom")
    assert abs(statistic - freedom) < 7 * sqrt(2 * freedom)


def test_mean_variance_and_kurtosis_are_a_gaussians_at_a_large_s(engine):
    count = 8 * BLOCK_NUMBERS if engine.name == "reference" else 1 << 19
    law = DiscreteGaussian.of_at_least(Fraction(10**9))
    scaled = engine.sample_discrete_gaussian(KEY, 0, count, law) / sqrt(law.variance)
    # Standard errors of the mean, of the mean square and of the mean fourth power.
    assert abs(scaled.mean()) < 7 * sqrt(1 / count)
    assert abs((scaled**2).mean() - 1) < 7 * sqrt(2 / count)
    assert abs((scaled**4).mean() - 3) < 7 * sqrt(96 / count)
