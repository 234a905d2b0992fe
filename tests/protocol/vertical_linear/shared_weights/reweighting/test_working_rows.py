"""Working rows and the least squares of them: the log loss's own gradient, curvature and optimum, in plain numbers."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from hekat.protocol.vertical_linear.mixing import LEAST_VARIANCE, apply_mixing, find_mixing
from hekat.protocol.vertical_linear.prediction.calibrated import log_odds_of
from hekat.protocol.vertical_linear.prediction.calibration import fit_probabilities
from hekat.protocol.vertical_linear.shared_weights.reweighting.weighted_step import (
    find_penalty,
    reweight_plain,
    solve_plain,
    solving_steps,
)
from hekat.protocol.vertical_linear.shared_weights.reweighting.working_rows import (
    LEAST_WEIGHT,
    LEAST_WEIGHT_OF_PART,
    find_working_rows,
    softmax,
    unit_of,
)


def targets_of(column_count: int, row_count: int = 40, seed: int = 2) -> np.ndarray:
    rng = np.random.default_rng(seed)
    if column_count == 1:
        return np.where(rng.random((row_count, 1)) < 0.5, -1.0, 1.0)
    return 2.0 * (rng.integers(column_count, size=(row_count, 1)) == np.arange(column_count)) - 1.0


@pytest.mark.parametrize("column_count", [1, 3])
def test_the_gradient_at_the_scores_is_the_log_losss(column_count) -> None:
    rng, targets = np.random.default_rng(1), targets_of(column_count)
    log_odds = rng.normal(size=targets.shape) * 3
    working = find_working_rows(log_odds, log_odds, targets, is_part=False)
    if column_count == 1:
        probabilities, points = 1 / (1 + np.exp(-log_odds)), log_odds
        curvatures = probabilities * (1 - probabilities)
    else:
        probabilities = softmax(log_odds)
        points = log_odds - log_odds.mean(axis=1, keepdims=True)
        curvatures = 2 * probabilities * (1 - probabilities)
    unit = unit_of(column_count)
    assert np.allclose(working.weights, unit * np.maximum(curvatures, LEAST_WEIGHT), atol=1e-9)
    assert working.weights.max() <= 1.0
    gradient = working.weights * points - working.responses
    # Centred in each row: a softmax does not change where all its values move together.
    assert np.allclose(gradient / unit, probabilities - (targets > 0), atol=1e-4)


def test_the_curvature_bounds_the_softmaxs_in_all_classes_together() -> None:
    rng = np.random.default_rng(4)
    for _ in range(50):
        values = rng.normal(size=(1, 4)) * 3
        p = softmax(values)[0]
        working = find_working_rows(values, values, targets_of(4, 1), is_part=False)
        rest = np.diag(working.weights[0] / unit_of(4)) - (np.diag(p) - np.outer(p, p))
        assert np.linalg.eigvalsh(rest).min() > -1e-12


def test_rows_that_are_told_apart_and_wrong_have_finite_responses() -> None:
    targets = np.array([[1.0], [-1.0], [1.0]])
    working = find_working_rows(targets, np.array([[900.0], [900.0], [-900.0]]), targets, is_part=False)
    assert np.isfinite(working.responses).all()
    assert np.allclose(working.weights, unit_of(1) * LEAST_WEIGHT)


def test_of_a_part_of_the_rows_what_the_taylor_loss_says_of_all_is_taken_off() -> None:
    """Over all rows Taylor residuals are orthogonal to every column, and over a part they are only nearly."""
    rng, targets = np.random.default_rng(3), targets_of(1)
    scores = 0.8 * targets + rng.normal(size=targets.shape) * 0.3
    whole = find_working_rows(scores, scores, targets, is_part=False)
    part = find_working_rows(scores, scores, targets, is_part=True)
    taylor = 2.0 * targets - scores
    residuals = part.responses - part.weights * np.log(1 / (1 + np.exp(-scores)) / (1 / (1 + np.exp(scores))))
    assert abs(float((residuals * taylor).sum())) < 1e-9
    assert (part.weights >= unit_of(1) * LEAST_WEIGHT_OF_PART).all()
    off = whole.responses - part.responses
    same = part.weights == whole.weights
    assert np.count_nonzero(same) > 20
    assert np.allclose((off / taylor)[same], (off / taylor)[same][0])


def test_the_steps_come_to_the_least_squares() -> None:
    rng = np.random.default_rng(5)
    for row_count in (40, 400):
        features = rng.normal(size=(row_count, 6)) @ rng.normal(size=(6, 6))
        mixing = find_mixing(features, [np.arange(row_count)])
        rows = np.hstack([np.ones((row_count, 1)), apply_mixing(features, mixing)])
        products = rows.T @ (rows * rng.random((row_count, 1))) / row_count
        products[1:, 1:] += find_penalty(features, mixing) * unit_of(1) / row_count
        targets = rng.normal(size=7)
        found = solve_plain(products, targets, np.zeros(7), solving_steps(row_count, 1, 2))
        assert np.allclose(found, np.linalg.solve(products, targets), atol=0.02 * np.abs(targets).max())


def test_no_penalty_exceeds_what_the_step_allows_for() -> None:
    """Long tails, columns that go together, few rows: the step is right for the largest eigenvalue all the same."""
    rng = np.random.default_rng(6)
    for row_count in (12, 60):
        features = np.exp(2 * rng.normal(size=(row_count, 5)))
        features[:, 4] = features[:, 3] + 1e-6 * features[:, 0]
        mixing = find_mixing(features, [np.arange(row_count)])
        assert np.linalg.eigvalsh(find_penalty(features, mixing)).max() <= 1.0001 / LEAST_VARIANCE


def _distance_of_step(part_rows: int, *, is_part: bool, seed: int) -> float:
    """How far scores are from the penalised log loss's after one step over some of 600 rows, by how far they were."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(600, 5))
    X[:, 1] += X[:, 0]
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    labels = X @ [2.0, -1.0, 1.0, 0.5, 0.0] + 0.5 + rng.logistic(size=600) > 0
    targets = np.where(labels, 1.0, -1.0)[:, np.newaxis]
    exact = LogisticRegression(max_iter=1000).fit(X, labels).decision_function(X)
    mixing = find_mixing(X, [np.arange(600)])
    rows = np.hstack([np.ones((600, 1)), apply_mixing(X, mixing)])
    start = np.linalg.lstsq(rows, 2.0 * targets, rcond=None)[0]
    chosen = np.arange(part_rows)
    scores = rows[chosen] @ start
    log_odds = log_odds_of(scores, fit_probabilities(scores, targets[chosen]))
    working = find_working_rows(scores, log_odds, targets[chosen], is_part=is_part)
    found = reweight_plain(rows[chosen, 1:], find_penalty(X, mixing), start, working, 2)
    before = np.abs(rows @ start[:, 0] - exact).mean()
    return float(np.abs(rows @ found[:, 0] - exact).mean() / before)


def test_one_step_comes_near_the_penalised_log_loss() -> None:
    assert _distance_of_step(600, is_part=False, seed=7) < 0.1


def test_some_rows_come_nearer_by_what_the_taylor_loss_says_of_all() -> None:
    with_it = [_distance_of_step(200, is_part=True, seed=seed) for seed in range(5)]
    without = [_distance_of_step(200, is_part=False, seed=seed) for seed in range(5)]
    assert np.mean(with_it) < 0.7 * np.mean(without)
