"""Discrete Gaussians: variances rounded up and refused, brackets of real numbers, comparisons beyond a first word."""

from __future__ import annotations

import math
from decimal import Decimal, localcontext
from fractions import Fraction
from functools import partial
from itertools import repeat

import numpy as np
import pytest

from hekat.engine.ring import gaussian_reference
from hekat.engine.ring.chacha20 import chacha20_stream
from hekat.engine.ring.gaussian import (
    CUT_CHANCE,
    MAX_VARIANCE,
    DiscreteGaussian,
    bracket_exp,
    bracket_table,
    is_below,
)
from hekat.errors import InputError

KEY = bytes(range(32))


@pytest.mark.parametrize("seed", range(20))
def test_a_variance_is_rounded_up_by_one_part_in_2_to_the_34_at_most(seed):
    rng = np.random.default_rng(seed)
    asked = 4 + Fraction(int(rng.integers(1, 1 << 62)), int(rng.integers(1, 1 << int(rng.integers(1, 62)))))
    law = DiscreteGaussian.of_at_least(asked)
    assert asked <= law.variance <= asked * (1 + Fraction(1, 1 << 34))
    assert law.limit**2 <= 100 * law.variance < (law.limit + 1) ** 2
    assert DiscreteGaussian.of_at_least(law.variance) == law


def test_a_base_that_rounds_up_to_its_end_takes_a_doubling():
    law = DiscreteGaussian.of_at_least(16 - Fraction(1, 1 << 40))
    assert (law.base, law.doublings, law.variance) == (1 << 34, 1, 16)
    assert DiscreteGaussian.of_at_least(Fraction(MAX_VARIANCE)).variance == MAX_VARIANCE


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (
            lambda: DiscreteGaussian.of_at_least(Fraction(4) - Fraction(1, 1 << 40)),
            "expected 4 to 2.83; got less than 4",
        ),
        (lambda: DiscreteGaussian.of_at_least(Fraction(MAX_VARIANCE) + 1), "got more than 2.83"),
        (lambda: DiscreteGaussian((1 << 34) - 1, 0), "base variance"),
        (lambda: DiscreteGaussian(1 << 36, 0), "base variance"),
        (lambda: DiscreteGaussian(1 << 34, 41), "expected 0 to 40"),
        (lambda: DiscreteGaussian(1 << 34, -1), "expected 0 to 40"),
    ],
)
def test_other_laws_are_refused(make, words):
    with pytest.raises(InputError, match=words):
        make()


@pytest.mark.parametrize("bits", [64, 128, 640])
def test_brackets_of_exponentials_hold_decimals_of_250_digits(bits):
    rng = np.random.default_rng(7)
    with localcontext(prec=250):
        for _ in range(40):
            denominator = int(rng.integers(1, 1 << 40))
            numerator = int(rng.integers(0, 50 * denominator))
            low, high = bracket_exp(numerator, denominator, bits)
            exact = (-Decimal(numerator) / denominator).exp() * (1 << bits)
            assert low <= exact <= high <= low + 2
    assert bracket_exp(0, 3, bits) == (1 << bits, 1 << bits)


@pytest.mark.parametrize("base", [1 << 34, (1 << 36) - 1, 3 << 33])
def test_brackets_of_the_table_hold_decimals_of_100_digits(base):
    with localcontext(prec=100):
        weights = [(-Decimal(j * j << 31) / base).exp() for j in range(DiscreteGaussian(base, 0).base_limit + 1)]
        table = bracket_table(base, 128)
        assert len(table) == len(weights) - 1
        for j, (low, high) in enumerate(table):
            assert low <= sum(weights[: j + 1]) / sum(weights) * (1 << 128) <= high <= low + 2


def test_a_comparison_reads_further_digits_until_they_tell():
    """A number that equals another in its first 64 or 192 digits, a little less and a little more behind them."""
    exact, _ = bracket_exp(1, 2, 512)
    digits = [exact >> 448 - 64 * i & (1 << 64) - 1 for i in range(6)]
    for equal in (1, 3):
        for step in (-1, 1):
            words = [*digits[1:equal], digits[equal] + step, 0]
            read = iter(words)
            assert is_below(digits[0], partial(iter, read), lambda bits: bracket_exp(1, 2, bits)) == (step < 0)
            assert next(read, None) == 0
    assert is_below((1 << 64) - 1, lambda: iter([]), lambda bits: (1 << bits, 1 << bits))


def test_a_try_at_the_edge_of_the_table_follows_its_further_digits():
    """u equal to C_0's first digits: zero where the stream of U goes on below C_0's, else one."""
    law, found = DiscreteGaussian(1 << 34, 0), set()
    u = bracket_table(law.base, 64)[0][0]
    following = bracket_table(law.base, 128)[0][0] - (u << 64)
    for t in range(8):
        nonce = gaussian_reference._nonce(gaussian_reference.FURTHER_U, 3)
        expected = int(next(chacha20_stream(KEY, nonce, t << 12)) >= following)
        assert gaussian_reference._try_number(KEY, 3, t, (u, 0, 0), law) == expected
        found.add(expected)
    assert found == {0, 1}


def test_tries_are_refused_for_a_negative_zero_a_late_v_and_a_number_beyond_the_cut(monkeypatch):
    law, top, negative = DiscreteGaussian((1 << 34) + 5, 3), (1 << 64) - 1, 1 << 63

    def draw(u, v, r):
        return gaussian_reference._try_number(KEY, 0, 0, (u, v, r), law)

    assert draw(0, 0, 0) == 0
    assert draw(0, 0, negative) is None
    assert (draw(0, 0, 5), draw(0, 0, negative + 5)) == (5, -5)
    assert (draw(0, top, 8), draw(0, top, 7)) == (0, None)
    # The largest U of all gives z = Z = 20, 160 + y, and 10 s is a little above 160.
    monkeypatch.setattr(gaussian_reference, "chacha20_stream", lambda *_: repeat(top))
    assert law.limit == 160
    assert (draw(top, 0, 0), draw(top, 0, 1)) == (160, None)


def test_the_chance_of_the_cut_is_below_what_is_charged_for_it():
    """At s from 2 to 12 the sum of all beyond 10 s, worst where an integer stands just beyond it; it falls with s."""
    worst = {}
    for limit in range(20, 120):
        s = (limit + 1) / 10 - 1e-9
        tail = sum(math.exp(-(x**2) / (2 * s * s)) for x in range(limit + 1, 3 * limit))
        worst[limit] = 2 * tail / (s * math.sqrt(2 * math.pi))
    assert max(worst.values()) < CUT_CHANCE
    assert max(chance for limit, chance in worst.items() if limit >= 40) < 4.2e-23
