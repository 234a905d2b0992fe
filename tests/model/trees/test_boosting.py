"""Iterations: losses fall, early stopping stops, warm start goes on as if it had never stopped, samples are drawn."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_diabetes, load_wine
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor

from hekat.errors import InputError
from hekat.model.trees import (
    IterationLoss,
    TreeTraining,
    bin_table,
    hold_out_rows,
    make_objective,
    sample_columns,
    sample_rows,
    should_stop,
    train_plain,
)

SEED = 20


def _losses(values: list[float]) -> list[IterationLoss]:
    return [IterationLoss(0.0, value) for value in values]


@pytest.mark.parametrize(
    ("values", "stops"),
    [
        ([5, 4, 3, 2], False),
        ([5, 4, 3], False),
        ([5, 4, 4, 4, 4], True),
        ([5, 4, 4, 4, 3.9], False),
        ([5, 4, 4, 4, 3.9999], True),
        ([4, 5, 6, 7], True),
        ([5, 3, 4, 4, 4], True),
        ([3, 3, 3], False),
    ],
)
def test_training_stops_when_held_out_rows_stop_getting_better(values: list[float], stops: bool) -> None:
    training = TreeTraining(early_stopping=True, n_iter_no_change=3, tol=0.001)
    assert should_stop(_losses(values), training) is stops
    assert should_stop(_losses(values), TreeTraining()) is False


def test_early_stopping_ends_before_the_last_iteration() -> None:
    X, y = load_breast_cancer(return_X_y=True)
    training = TreeTraining(max_iter=200, learning_rate=0.5, early_stopping=True, n_iter_no_change=5, max_bins=32)
    run = train_plain(bin_table(X, 32), y.astype(np.int64), make_objective(2), training)
    assert 5 < len(run.losses) < 200
    assert should_stop(run.losses, training)
    assert not should_stop(run.losses[:-1], training)
    assert run.losses[-1].training < run.losses[0].training


def test_held_out_rows_train_nothing() -> None:
    X, y = load_diabetes(return_X_y=True)
    training = TreeTraining(max_iter=3, early_stopping=True)
    held_out = hold_out_rows(training, len(y))
    assert held_out.sum() == round(0.1 * len(y))
    other = np.where(held_out, y + 1e6, y)
    table, objective = bin_table(X, 32), make_objective(0)
    first, second = (train_plain(table, labels, objective, training) for labels in (y, other))
    assert np.array_equal(first.ensemble.raw_scores(table), second.ensemble.raw_scores(table))
    assert first.ensemble.trees[0][0].count[0] == len(y) - held_out.sum()


@pytest.mark.parametrize("class_count", [0, 3])
def test_a_warm_start_goes_on_as_if_it_had_never_stopped(class_count: int) -> None:
    X, y = load_wine(return_X_y=True) if class_count else load_diabetes(return_X_y=True)
    y = y.astype(np.int64) if class_count else y
    table, objective = bin_table(X, 16), make_objective(class_count)
    settings = {"min_samples_leaf": 5, "subsample": 0.7, "max_features": 0.5}
    whole = train_plain(table, y, objective, TreeTraining(max_iter=6, **settings))
    begun = train_plain(table, y, objective, TreeTraining(max_iter=2, **settings))
    gone_on = train_plain(table, y, objective, TreeTraining(max_iter=6, **settings), warm_start=begun)
    assert np.array_equal(whole.ensemble.raw_scores(table), gone_on.ensemble.raw_scores(table))
    assert whole.losses == gone_on.losses


def test_samples_follow_from_seed_and_iteration() -> None:
    training = TreeTraining(subsample=0.25, max_features=0.3, seed=7)
    rows = np.arange(0, 2_000, 2)
    drawn = [sample_rows(training, iteration, rows) for iteration in range(20)]
    assert all(len(one) == 250 and (np.diff(one) > 0).all() and np.isin(one, rows).all() for one in drawn)
    assert not np.array_equal(drawn[0], drawn[1])
    assert np.array_equal(drawn[3], sample_rows(training, 3, rows))
    assert len(np.unique(np.concatenate(drawn))) == len(rows)
    assert [int(sample_columns(training, i, 10).sum()) for i in range(5)] == [3] * 5
    assert sample_rows(TreeTraining(), 0, rows) is rows
    assert sample_columns(TreeTraining(), 0, 4).all()


def test_columns_that_are_not_drawn_are_not_split() -> None:
    X, y = load_diabetes(return_X_y=True)
    training = TreeTraining(max_iter=8, max_features=0.3)
    run = train_plain(bin_table(X, 32), y, make_objective(0), training)
    for iteration, (tree,) in enumerate(run.ensemble.trees):
        drawn = np.flatnonzero(sample_columns(training, iteration, 10))
        assert set(tree.column[tree.column >= 0]) <= set(drawn)


def test_a_sampled_tree_is_trained_by_its_rows() -> None:
    X, y = load_diabetes(return_X_y=True)
    run = train_plain(bin_table(X, 32), y, make_objective(0), TreeTraining(max_iter=2, subsample=0.5))
    assert [int(tree.count[0]) for (tree,) in run.ensemble.trees] == [round(0.5 * len(y))] * 2


def test_too_few_rows_are_refused() -> None:
    table = bin_table(np.arange(39.0)[:, None], 8)
    with pytest.raises(InputError, match="too few rows"):
        train_plain(table, np.arange(39.0), make_objective(0), TreeTraining())


def test_labels_that_do_not_fit_are_refused() -> None:
    table = bin_table(np.arange(50.0)[:, None], 8)
    with pytest.raises(InputError, match="do not fit"):
        train_plain(table, np.arange(49.0), make_objective(0), TreeTraining())
    with pytest.raises(InputError, match="targets refused"):
        train_plain(table, np.full(50, np.nan), make_objective(0), TreeTraining())


def test_a_regression_is_as_good_as_scikit_learns() -> None:
    X, y = load_diabetes(return_X_y=True)
    table = bin_table(X, 64)
    run = train_plain(table, y, make_objective(0), TreeTraining(max_iter=30, rounding="nearest", gradient_bits=30))
    other = HistGradientBoostingRegressor(
        max_iter=30, max_depth=6, max_leaf_nodes=64, min_samples_leaf=20, early_stopping=False
    )
    other.fit(table.digits.T.astype(np.float64), y)
    expected = other.predict(table.digits.T.astype(np.float64))
    off = run.ensemble.raw_scores(table)[0] - expected
    # Its histograms are in float32: a few near ties fall otherwise.
    assert np.sqrt(np.mean(off**2)) < 0.02 * np.std(expected)


def test_two_classes_are_as_good_as_scikit_learns() -> None:
    X, y = load_breast_cancer(return_X_y=True)
    table = bin_table(X, 64)
    training = TreeTraining(max_iter=20, rounding="nearest", gradient_bits=30)
    run = train_plain(table, y.astype(np.int64), make_objective(2), training)
    other = HistGradientBoostingClassifier(
        max_iter=20, max_depth=6, max_leaf_nodes=64, min_samples_leaf=20, early_stopping=False
    )
    other.fit(table.digits.T.astype(np.float64), y)
    expected = other.decision_function(table.digits.T.astype(np.float64))
    off = run.ensemble.raw_scores(table)[0] - expected
    assert np.sqrt(np.mean(off**2)) < 0.1 * np.std(expected)
