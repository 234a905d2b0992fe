"""Lower bounds on epsilon: against exact fractions, on randomised response, which they fit, and on noise and none."""

from __future__ import annotations

import math
from fractions import Fraction
from math import comb

import numpy as np
import pytest

from hekat.engine.ring.gaussian import DiscreteGaussian
from hekat.engine.select import get_engine
from hekat.errors import InputError
from hekat.privacy.accounting import Release, epsilon_of
from hekat.privacy.audit import LevelCanaries, audit_scores, epsilon_at_least

KEY = bytes(range(100, 132))


def chance_of_more(right, guesses, canaries, delta, epsilon):
    """The bound in fractions: beta + 2 m delta alpha, of coins of a chance that is one."""
    q = Fraction(math.exp(epsilon)) / (1 + Fraction(math.exp(epsilon)))
    law = [comb(guesses, k) * q**k * (1 - q) ** (guesses - k) for k in range(guesses + 1)]
    beta = sum(law[right:])
    alpha = max((sum(law[right - i : right]) / i for i in range(1, right + 1)), default=Fraction(0))
    return beta + 2 * canaries * Fraction(delta) * alpha


@pytest.mark.parametrize(
    ("right", "guesses", "canaries", "delta"), [(12, 12, 12, 0), (30, 40, 90, 1e-4), (55, 60, 60, 0)]
)
def test_the_bound_is_the_largest_epsilon_that_is_refuted(right, guesses, canaries, delta):
    found = epsilon_at_least(right, guesses, canaries, delta=delta, confidence=0.95)
    assert found > 0.1
    assert chance_of_more(right, guesses, canaries, delta, found) < Fraction(5, 100)
    assert chance_of_more(right, guesses, canaries, delta, found + 2e-4) >= Fraction(5, 100)


def test_guessing_by_chance_refutes_nothing_and_a_large_delta_takes_the_bound_away():
    assert epsilon_at_least(50, 100, 100, delta=0) == 0
    assert epsilon_at_least(0, 100, 100, delta=0) == 0
    bounds = [epsilon_at_least(95, 100, 10_000, delta=delta) for delta in (0, 1e-6, 1e-5, 1e-4, 0.5)]
    assert bounds == sorted(bounds, reverse=True)
    assert bounds[0] > 2
    assert bounds[-1] == 0


@pytest.mark.parametrize("seed", range(5))
def test_randomised_response_is_bounded_by_its_epsilon_and_nearly_reached(seed):
    """Answers that are true with odds e^1 to 1: the mechanism for which the bound is tight."""
    rng = np.random.default_rng(seed)
    included = rng.integers(0, 2, 20_000).astype(bool)
    answers = included ^ (rng.random(20_000) > math.e / (1 + math.e))
    found = audit_scores(answers.astype(float), included, delta=0, confidence=1 - 1e-10, guessed=(1.0,))
    assert 0.8 < found.epsilon <= 1


def opened_sum(canaries, size, noise):
    """What opens of one party's canaries under noise of so many sizes of one."""
    levels = canaries.planted_in(np.zeros(len(canaries.coordinates), np.int64))
    if not noise:
        return levels
    law = DiscreteGaussian.of_at_least(Fraction(noise * size) ** 2)
    return levels + get_engine().sample_discrete_gaussian(KEY, 0, levels.size, law)


@pytest.mark.parametrize(("noise", "least"), [(2, 0.5), (4, 0.1)])
def test_an_audit_of_noise_stays_below_what_is_accounted_and_passes_it_without_noise(noise, least):
    pytest.importorskip("dp_accounting", reason="needs hekat[privacy]")
    size, delta, count = 100, 1e-7, 10_000
    included = np.random.default_rng(noise).integers(0, 2, count).astype(bool)
    canaries = LevelCanaries(np.arange(count), included, size)
    claimed = epsilon_of({Release(noise, 1.0, count, 1, float(noise * size)): 1}, delta)
    found = audit_scores(canaries.scores(opened_sum(canaries, size, noise)), included, delta=delta)
    assert least < found.epsilon < claimed
    bare = audit_scores(canaries.scores(opened_sum(canaries, size, 0)), included, delta=delta)
    assert bare.epsilon > claimed
    assert bare.right == bare.guesses


def test_canaries_are_tossed_anew_fall_in_their_coordinates_and_are_half():
    first, second = LevelCanaries.toss(4001, 7, first=3), LevelCanaries.toss(4001, 7, first=3)
    # Equal, or away from half by more than 4001 / 5, with chances far below 1e-100.
    assert (first.included != second.included).any()
    assert abs(int(first.included.sum()) - 2000) < 800
    levels = np.full(4004, 120, np.int8)
    planted = first.planted_in(levels)
    assert planted[:3].tolist() == [120] * 3
    assert np.array_equal(planted[3:], np.where(first.included, 127, 120))
    assert np.array_equal(first.scores(planted), planted[3:])
    assert LevelCanaries(np.arange(2), np.array([True, False]), 10).planted_in(levels[:2]).tolist() == [130, 120]


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: epsilon_at_least(3, 2, 5, delta=0), "3 right of 2 guesses"),
        (lambda: epsilon_at_least(0, 0, 5, delta=0), "guesses refused"),
        (lambda: epsilon_at_least(2, 6, 5, delta=0), "guesses refused"),
        (lambda: epsilon_at_least(2, 3, 5, delta=1), "delta of an audit"),
        (lambda: epsilon_at_least(2, 3, 5, delta=float("nan")), "delta of an audit"),
        (lambda: epsilon_at_least(2, 3, 5, delta=0, confidence=1), "confidence of an audit"),
        (lambda: audit_scores(np.array([1.0, np.nan]), np.array([True, False]), delta=0), "scores of canaries"),
        (lambda: audit_scores(np.ones(1), np.ones(1, bool), delta=0), "scores of canaries"),
        (lambda: audit_scores(np.ones(3), np.ones(2, bool), delta=0), "coins of canaries"),
        (lambda: audit_scores(np.ones(3), np.ones(3), delta=0), "coins of canaries"),
        (lambda: audit_scores(np.ones(3), np.ones(3, bool), delta=0, guessed=()), "parts of canaries"),
        (lambda: audit_scores(np.ones(3), np.ones(3, bool), delta=0, guessed=(1.5,)), "parts of canaries"),
        (lambda: LevelCanaries.toss(0, 1), "canaries of an audit refused"),
        (lambda: LevelCanaries.toss(1, 0), "size of an audit refused"),
        (lambda: LevelCanaries.toss(1, 1, first=-1), "first coordinate of an audit refused"),
        (lambda: LevelCanaries.toss(4, 1).planted_in(np.zeros(3, int)), "4 and more; got int64"),
        (lambda: LevelCanaries.toss(4, 1).scores(np.zeros(4)), "an opened sum refused"),
        (lambda: LevelCanaries.toss(4, 1).scores([1, 2, 3, 4]), "got list"),
    ],
)
def test_what_is_no_audit_is_refused(call, words):
    with pytest.raises(InputError, match=words):
        call()
