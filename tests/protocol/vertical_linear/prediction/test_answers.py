"""Answers and probabilities of scores, as scikit-learn gives them."""

from __future__ import annotations

import numpy as np
from sklearn.datasets import load_iris
from sklearn.linear_model import LogisticRegression
from sklearn.multiclass import OneVsRestClassifier

from hekat.protocol.vertical_linear.prediction.answers import answers_of


def test_two_classes_as_scikit_learn_does() -> None:
    X, y = load_iris(return_X_y=True)
    X, y = X[50:], y[50:] - 1
    model = LogisticRegression().fit(X, y)
    numbers, probabilities = answers_of(("a", "b"), model.decision_function(X)[:, None])
    assert (numbers == model.predict(X)).all()
    np.testing.assert_allclose(probabilities, model.predict_proba(X), rtol=1e-12)


def test_three_classes_as_scikit_learn_does_one_against_the_rest() -> None:
    X, y = load_iris(return_X_y=True)
    model = OneVsRestClassifier(LogisticRegression()).fit(X, y)
    numbers, probabilities = answers_of(("a", "b", "c"), model.decision_function(X))
    assert (numbers == model.predict(X)).all()
    np.testing.assert_allclose(probabilities, model.predict_proba(X), rtol=1e-12)


def test_scores_far_out_give_probabilities_all_the_same() -> None:
    _, pair = answers_of(("a", "b"), np.array([[-2000.0], [2000.0]]))
    assert pair.tolist() == [[1.0, 0.0], [0.0, 1.0]]
    _, three = answers_of(("a", "b", "c"), np.full((1, 3), -2000.0))
    np.testing.assert_allclose(three, 1 / 3)


def test_a_regression_has_numbers_and_no_probabilities() -> None:
    numbers, probabilities = answers_of(None, np.array([[1.5], [-2.0]]))
    assert numbers.tolist() == [1.5, -2.0]
    assert probabilities is None
