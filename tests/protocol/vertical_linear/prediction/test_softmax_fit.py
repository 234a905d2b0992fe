"""The softmax that fits three classes or more, and what it makes of classes that no row has."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import expit
from sklearn.linear_model import LogisticRegression

from hekat.errors import InputError
from hekat.protocol.vertical.label_privacy.corrected_odds import odds_against_others
from hekat.protocol.vertical_linear.prediction.calibrated import log_odds_of
from hekat.protocol.vertical_linear.prediction.softmax_fit import fit_softmax


def probabilities(scores: np.ndarray, fitted: np.ndarray) -> np.ndarray:
    return np.asarray(expit(odds_against_others(log_odds_of(scores, fitted))))


def scores_and_labels(class_count: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(3)
    labels = rng.integers(class_count, size=200)
    return (labels[:, np.newaxis] == np.arange(class_count)) * 0.3 + rng.normal(size=(200, class_count)) * 0.2, labels


def test_it_is_scikit_learns_on_scores_of_one_spread() -> None:
    scores, labels = scores_and_labels(4)
    units = (scores - scores.mean(axis=0)) / scores.std()
    expected = LogisticRegression(max_iter=1000).fit(units, labels).predict_proba(units)
    found = probabilities(scores, fit_softmax(scores, labels))
    assert np.allclose(found, expected, atol=1e-3)
    assert np.allclose(found.sum(axis=1), 1)


@pytest.mark.parametrize("present", [(0, 2), (1,), (0, 1, 3)])
def test_a_class_that_no_row_has_is_unlikely_everywhere(present) -> None:
    scores, labels = scores_and_labels(4)
    rows = np.isin(labels, present)
    found = probabilities(scores[rows], fit_softmax(scores[rows], labels[rows]))
    missing = [one for one in range(4) if one not in present]
    assert found[:, missing].max() < 1 / np.count_nonzero(rows)
    assert (found[:, missing] > 0).all()
    assert np.mean(found.argmax(axis=1) == labels[rows]) > 0.6


def test_odds_stay_finite_where_a_class_is_all_but_certain() -> None:
    odds = odds_against_others(np.array([[800.0, 0.0, -800.0]]))
    assert np.isfinite(odds).all()
    assert odds[0, 0] == 800.0


def test_scores_that_are_no_numbers_are_refused() -> None:
    with pytest.raises(InputError, match="scores are no numbers"):
        fit_softmax(np.array([[np.nan, 1.0, 2.0]]), np.array([1]))
