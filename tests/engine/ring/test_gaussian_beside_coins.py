"""Discrete Gaussians beside another exact sampler, which tosses coins with chances that are fractions."""

from __future__ import annotations

import random
from fractions import Fraction
from math import isqrt, sqrt

import numpy as np
import pytest

from hekat.engine.ring.gaussian import DiscreteGaussian
from hekat.engine.select import get_engine

KEY = bytes(range(200, 232))


class Coins:
    """Algorithms 1 to 3 of Canonne, Kamath, Steinke 2020."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)

    def is_one(self, chance: Fraction) -> bool:
        return self._random.randrange(chance.denominator) < chance.numerator

    def is_one_by_exp(self, gamma: Fraction) -> bool:
        """A coin of chance exp(-gamma)."""
        for _ in range(int(gamma)):
            if not self.is_one_by_exp_below_one(Fraction(1)):
                return False
        return self.is_one_by_exp_below_one(gamma - int(gamma))

    def is_one_by_exp_below_one(self, gamma: Fraction) -> bool:
        k = 1
        while self.is_one(gamma / k):
            k += 1
        return k % 2 == 1

    def laplace(self, t: int) -> int:
        while True:
            u = self._random.randrange(t)
            if not self.is_one_by_exp(Fraction(u, t)):
                continue
            v = 0
            while self.is_one_by_exp(Fraction(1)):
                v += 1
            x, is_negative = u + t * v, self.is_one(Fraction(1, 2))
            if not (is_negative and x == 0):
                return -x if is_negative else x

    def gaussian(self, variance: Fraction) -> int:
        t = isqrt(int(variance)) + 1
        while True:
            y = self.laplace(t)
            if self.is_one_by_exp((abs(y) - variance / t) ** 2 / (2 * variance)):
                return y


def deviations(ours: np.ndarray, theirs: np.ndarray) -> float:
    """Chi square of two samples, less its mean, in its standard deviations."""
    # Bins of equal parts of all numbers, so that each is expected often enough.
    edges = np.unique(np.quantile(ours, np.linspace(0, 1, 40)[1:-1]))
    a, b = (np.bincount(np.searchsorted(edges, sample, side="right")) for sample in (ours, theirs))
    assert min(b) >= 10
    weight = sqrt(ours.size / theirs.size)
    statistic = float(((a / weight - b * weight) ** 2 / (a + b)).sum())
    print(f"chi square {statistic:.1f} with {len(edges)} degrees of freedom")
    return (statistic - len(edges)) / sqrt(2 * len(edges))


def draw_both(variance: Fraction, count: int, other: Fraction) -> float:
    """How far many numbers of the engine's and `count` by coins, of another variance, are apart; seed and key fixed."""
    law, coins = DiscreteGaussian.of_at_least(variance), Coins(5)
    theirs = np.array([coins.gaussian(other) for _ in range(count)])
    return deviations(get_engine().sample_discrete_gaussian(KEY, 0, 1 << 18, law), theirs)


MANY = [pytest.param(Fraction(v), 20_000, marks=pytest.mark.long, id=f"{v}-many") for v in ("4", "16", "1000/3")]


@pytest.mark.parametrize(("variance", "count"), [pytest.param(Fraction(16), 1200, id="16"), *MANY])
def test_both_samplers_have_one_law(variance: Fraction, count: int) -> None:
    assert abs(draw_both(variance, count, DiscreteGaussian.of_at_least(variance).variance)) < 7


def test_another_variance_is_told_apart() -> None:
    assert draw_both(Fraction(16), 1200, Fraction(26)) > 7
