"""Probabilities fitted to labels: the fit is the best one, and what the guest learns for it stands in its ledger."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.preprocessing import StandardScaler

from hekat.errors import InputError, JobError
from hekat.estimator import VerticalLinearRegression, VerticalLogisticRegression
from hekat.protocol.vertical_linear.model_part import CALIBRATION
from hekat.protocol.vertical_linear.prediction.calibration import fit_sigmoid


def test_the_fit_has_the_least_log_loss() -> None:
    rng = np.random.default_rng(3)
    scores = rng.normal(size=500) * 0.2 + 0.1
    labels = rng.random(500) < 1 / (1 + np.exp(-(9.0 * scores - 1.0)))
    slope, offset = fit_sigmoid(scores, labels)
    exact = LogisticRegression(C=np.inf, max_iter=10_000, tol=1e-10).fit(scores[:, np.newaxis], labels)
    assert slope == pytest.approx(exact.coef_[0, 0], rel=0.05)
    assert offset == pytest.approx(exact.intercept_[0], abs=0.05)


@pytest.mark.parametrize("scores", [np.array([-1.0, -0.5, 0.5, 1.0]), np.zeros(4)])
def test_rows_that_are_told_apart_and_equal_scores_have_a_finite_fit(scores) -> None:
    found = fit_sigmoid(scores, np.array([False, False, True, True]))
    assert np.isfinite(found).all()
    assert found[0] >= 0


def test_scores_that_are_no_numbers_are_refused() -> None:
    with pytest.raises(InputError, match="scores are no numbers"):
        fit_sigmoid(np.array([np.nan, 1.0]), np.array([True, False]))


@pytest.fixture(scope="module")
def tumours():
    X, y = load_breast_cancer(return_X_y=True)
    order = np.random.default_rng(1).permutation(len(y))
    return X[order], y[order]


@pytest.mark.long
def test_probabilities_by_default_are_fitted_to_labels(tumours, paillier_keys) -> None:
    """Weights move to the log loss: its scores are log-odds, where sigmoids of Taylor scores are far from it."""
    X, y = tumours
    keys = {"clinic": paillier_keys[2048][0], "laboratory": paillier_keys[2048][-1]}
    columns = {"clinic": slice(0, 15), "laboratory": slice(15, 30)}
    model = VerticalLogisticRegression(columns=columns, keys=keys, key_bits=2048).fit(X[:380], y[:380])
    scaler = StandardScaler().fit(X[:380])
    peer = LogisticRegression(max_iter=1000).fit(scaler.transform(X[:380]), y[:380])
    found, expected = model.predict_proba(X[380:]), peer.predict_proba(scaler.transform(X[380:]))
    assert log_loss(y[380:], found) < log_loss(y[380:], expected) + 0.01
    assert np.mean(found.argmax(axis=1) == y[380:]) > np.mean(expected.argmax(axis=1) == y[380:]) - 0.015
    assert all(CALIBRATION not in part.arrays for part in model.parts_.values())
    told = [note.what for note in model.ledgers_["clinic"].notes]
    what = "the guest learns the scores of 380 training rows, to 2^-12, to fit probabilities to labels"
    assert [text for text in told if what in text] == [what, f"after re-weighting, {what}"]
    raw = VerticalLogisticRegression(columns=columns, keys=keys, key_bits=2048, calibration_rows=0)
    assert log_loss(y[380:], raw.fit(X[:380], y[:380]).predict_proba(X[380:])) > log_loss(y[380:], expected) + 0.1


@pytest.mark.long
def test_training_rows_are_told_no_finer_than_predictions(tumours, paillier_keys) -> None:
    X, y = tumours
    keys = {"clinic": paillier_keys[2048][0], "laboratory": paillier_keys[2048][-1]}
    columns = {"clinic": slice(0, 2), "laboratory": slice(2, 4)}
    model = VerticalLogisticRegression(columns=columns, keys=keys, key_bits=2048, epochs=1, score_bits=5)
    told = [note.what for note in model.fit(X[:24], y[:24]).ledgers_["clinic"].notes]
    scored = [text for text in told if "learns the scores of" in text]
    # Once: a host of two columns would show them by two scores of a row.
    assert scored == ["the guest learns the scores of 24 training rows, to 2^-5, to fit probabilities to labels"]


def test_several_receivers_have_the_same_scores(tumours, paillier_keys) -> None:
    """The others do not know the calibration: what a host receives and what the guest then has are alike."""
    X, y = tumours
    keys = {"clinic": paillier_keys[2048][0], "laboratory": paillier_keys[2048][-1]}
    columns = {"clinic": slice(0, 3), "laboratory": slice(3, 6)}
    model = VerticalLogisticRegression(columns=columns, keys=keys, key_bits=2048, epochs=2, reweight=False)
    model.fit(X[:100], y[:100])
    assert CALIBRATION not in model.parts_["laboratory"].arrays
    alone = model.decision_function(X[100:120])
    both = model.set_params(receivers=("clinic", "laboratory")).decision_function(X[100:120])
    slope, offset = model.parts_["clinic"].arrays[CALIBRATION][0]
    assert np.allclose(alone, slope * both + offset, atol=slope * 2.0**-10)


@pytest.mark.long
@pytest.mark.parametrize(
    ("reweight", "host_columns", "times"),
    [
        pytest.param(None, 6, 2, marks=pytest.mark.long),
        pytest.param(False, 6, 1, marks=pytest.mark.long),
        (None, 5, 1),
    ],
)
def test_three_classes_have_the_probabilities_of_a_softmax(reweight, host_columns, times, paillier_keys) -> None:
    """The class in the middle has no score of its own that would rank it: one class against the rest is no model.

    Scores before and after the step tell five combinations, which is all that a host of five columns has.
    """
    rng = np.random.default_rng(8)
    X = rng.normal(size=(240, 2 + host_columns))
    score = X[:, :4] @ [2.0, -1.5, 1.0, 1.0] + 0.5 * rng.logistic(size=240)
    y = np.digitize(score, [-1.0, 1.0])
    keys = {"a": paillier_keys[2048][0], "b": paillier_keys[2048][-1]}
    columns = {"a": slice(0, 2), "b": slice(2, 2 + host_columns)}
    model = VerticalLogisticRegression(columns=columns, keys=keys, key_bits=2048, reweight=reweight)
    found = model.fit(X[:160], y[:160]).predict_proba(X[160:])
    peer = LogisticRegression(max_iter=1000).fit(X[:160], y[:160])
    assert log_loss(y[160:], found) < log_loss(y[160:], peer.predict_proba(X[160:])) + 0.05
    assert np.mean(found.argmax(axis=1) == y[160:]) > peer.score(X[160:], y[160:]) - 0.04
    assert model.parts_["a"].arrays[CALIBRATION].shape == (3, 4)
    assert np.allclose(found.sum(axis=1), 1)
    told = [note.what for note in model.ledgers_["a"].notes if "learns the scores of 160 training rows" in note.what]
    assert len(told) == times
    scored = 80 + 160 * len(told)
    assert model.predicted_rows_ == {"a": scored, "b": scored}


def test_a_regression_has_no_calibration() -> None:
    X = np.random.default_rng(1).normal(size=(40, 4))
    model = VerticalLinearRegression(columns={"a": slice(0, 2), "b": slice(2, 4)}, calibration_rows=10)
    with pytest.raises(JobError, match="calibration_rows"):
        model.fit(X, X @ [1.0, 2.0, 3.0, 4.0])
