"""Probabilities of labels from models of answers: exact where they can be, and never out of order."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import expit, logit, softmax

from hekat.protocol.vertical.label_privacy import RandomisedResponse, correct_log_odds, correct_softmax
from hekat.protocol.vertical.label_privacy.corrected_odds import FLOOR

CLASSES = ("a", "b", "c", "d")


@pytest.mark.parametrize("count", [2, 3, 4])
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 8.0])
def test_the_odds_of_answers_give_back_the_odds_of_labels(epsilon: float, count: int) -> None:
    response = RandomisedResponse(epsilon, count)
    labels = np.linspace(FLOOR, 1 - FLOOR, 41)
    answers = response.flip_odds + (response.keep_odds - response.flip_odds) * labels
    found = correct_log_odds(logit(answers), epsilon, CLASSES[:count])
    np.testing.assert_allclose(expit(found), labels, atol=1e-9)


@pytest.mark.parametrize("epsilon", [0.5, 3.0])
def test_scores_keep_their_order_beyond_what_answers_can_say(epsilon: float) -> None:
    """Clipped to a floor, most rows of a rare class would tie, and a ranking would be lost."""
    scores = np.linspace(-30.0, 30.0, 601)
    found = correct_log_odds(scores, epsilon, CLASSES[:2])
    assert (np.diff(found) > 0).all()
    np.testing.assert_allclose(found, -found[::-1], atol=1e-9)


def test_a_softmax_of_answers_becomes_a_softmax_of_labels() -> None:
    response = RandomisedResponse(1.5, 4)
    labels = np.array([[0.7, 0.1, 0.15, 0.05], [0.25, 0.25, 0.25, 0.25]])
    answers = response.flip_odds + (response.keep_odds - response.flip_odds) * labels
    found = correct_softmax(np.log(answers) + 3.0, 1.5, CLASSES)
    np.testing.assert_allclose(softmax(found, axis=1), labels, atol=1e-9)


def test_without_label_privacy_scores_stay_as_they_are() -> None:
    scores = np.array([[0.5, 2.0, -1.0]])
    assert correct_softmax(scores, None, CLASSES[:3]) is scores
    assert correct_log_odds(scores, None, None) is scores
