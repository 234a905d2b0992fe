"""The odds of an answer, what they bound, and targets whose mean is the true class."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import chisquare

from hekat.errors import InputError
from hekat.protocol.vertical.label_privacy import MAX_EPSILON, RandomisedResponse

ROWS = 60_000


def draws_of(seed: int, rows: int = ROWS) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, 2**64, (rows, 2), np.uint64)


@pytest.mark.parametrize(("epsilon", "classes"), [(1.0, 2), (2.0, 2), (0.1, 3), (3.0, 5), (8.0, 2)])
def test_answers_have_the_odds_of_randomised_response(epsilon: float, classes: int) -> None:
    response = RandomisedResponse(epsilon, classes)
    for true in range(classes):
        answers = response.answer(np.full(ROWS, true), draws_of(31 + true))
        expected = np.full(classes, ROWS * response.flip_odds)
        expected[true] = ROWS * response.keep_odds
        assert chisquare(np.bincount(answers, minlength=classes), expected).pvalue > 1e-4
    assert response.keep_odds / response.flip_odds == pytest.approx(math.exp(epsilon))
    assert response.keep_odds + (classes - 1) * response.flip_odds == pytest.approx(1)


@pytest.mark.parametrize(("epsilon", "bound"), [(1, 0.731), (2, 0.881), (3, 0.953)])
def test_the_best_attack_on_answers_reaches_less_than_the_bound(epsilon: float, bound: float) -> None:
    """For two classes the answer itself is the best score: its AUC is the odds that it was kept."""
    response = RandomisedResponse(epsilon, 2)
    assert response.auc_bound == pytest.approx(bound, abs=5e-4)
    assert f"{bound:.3f}" in response.describe()
    labels = np.arange(ROWS) % 2
    answers = response.answer(labels, draws_of(37))
    hit, alarm = answers[labels == 1].mean(), answers[labels == 0].mean()
    assert (1 + hit - alarm) / 2 == pytest.approx(response.keep_odds, abs=0.01)


@pytest.mark.parametrize(("epsilon", "classes"), [(1.0, 2), (2.0, 4)])
def test_targets_have_the_mean_of_the_true_classes(epsilon: float, classes: int) -> None:
    response = RandomisedResponse(epsilon, classes)
    for true in range(classes):
        targets = response.unbiased_targets(response.answer(np.full(ROWS, true), draws_of(41)))
        assert np.abs(targets.mean(axis=0) - np.eye(classes)[true]).max() < 0.02
        assert np.allclose(targets.sum(axis=1), 1)


def test_two_classes_have_the_target_of_the_literature() -> None:
    response = RandomisedResponse(1.0, 2)
    f = 1 / (1 + math.e)
    assert np.allclose(response.unbiased_targets(np.array([0, 1]))[:, 1], (np.array([0, 1]) - f) / (1 - 2 * f))


def test_draws_at_the_ends_give_classes() -> None:
    response = RandomisedResponse(1.0, 3)
    ends = np.array([[keep, other] for keep in (0, 2**64 - 1) for other in (0, 2**64 - 1)], np.uint64)
    answers = [response.answer(np.full(4, true), ends).tolist() for true in range(3)]
    assert answers == [[0, 0, 1, 2], [1, 1, 0, 2], [2, 2, 0, 1]]


@pytest.mark.parametrize("epsilon", [0.0, 0.09, -1.0, MAX_EPSILON + 0.1, math.nan, math.inf, "1"])
def test_an_epsilon_that_bounds_nothing_is_refused(epsilon: float) -> None:
    with pytest.raises(InputError, match="epsilon of label privacy refused"):
        RandomisedResponse(epsilon, 2)


@pytest.mark.parametrize("classes", [0, 1])
def test_numbers_and_single_classes_are_refused(classes: int) -> None:
    with pytest.raises(InputError, match="label privacy takes classes"):
        RandomisedResponse(1.0, classes)
