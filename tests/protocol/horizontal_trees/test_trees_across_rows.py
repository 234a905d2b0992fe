"""Whole runs, every role in this process: the same trees as one table in the clear has, under every protection."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score
from tests.protocol.horizontal_trees.trees_rehearsal import FINE, Rehearsal, make_settings, make_tables, pool

from hekat.data import hold_out_rows
from hekat.model.trees import BinnedTable, bin_rows, make_objective, train_plain


def same_trees(ours, theirs) -> None:
    """Node by node; leaves as near as sums of 32 bits are."""
    assert len(ours) == len(theirs)
    for own, other in zip((t for i in ours for t in i), (t for i in theirs for t in i), strict=True):
        for name in ("column", "left", "right", "count"):
            assert np.array_equal(getattr(own, name), getattr(other, name)), name
        inner = own.column >= 0
        assert np.array_equal(own.left_bins[inner], other.left_bins[inner])
        assert np.allclose(own.value, other.value, rtol=1e-6, atol=1e-8)
        assert np.allclose(own.gain, other.gain, rtol=1e-3)


def plainly(state, tables, settings) -> object:
    pooled = pool(tables)
    table: BinnedTable = bin_rows(pooled.features, state.bins)
    return train_plain(table, pooled.labels, make_objective(settings.class_count), settings.training)


@pytest.mark.quick_cases("lattice-0", "lattice-3", "none-3")
@pytest.mark.parametrize("class_count", [0, 2, 3])
@pytest.mark.parametrize("protection", ["none", "lattice", "paillier"])
def test_trees_are_those_of_one_table_with_all_rows_node_by_node(protection, class_count, key_pair) -> None:
    tables = make_tables(5, class_count=class_count, missing=True)
    settings = make_settings(class_count=class_count, protection=protection)
    states = Rehearsal(settings, tables, key_pair=key_pair).run()
    state = states["a"]
    assert state.iterations_done == 2
    plain = plainly(state, tables, settings)
    same_trees(state.trees, plain.ensemble.trees)
    assert np.allclose(state.start_scores, plain.ensemble.start_scores, rtol=1e-9)
    # The losses before the second iteration, and of the final model.
    assert np.allclose(state.losses[1:], [loss.training for loss in plain.losses], rtol=1e-9)
    for other in states.values():
        same_trees(state.trees, other.trees)


def test_rounded_gradients_give_every_party_the_same_trees_and_a_falling_loss() -> None:
    training = replace(FINE, max_iter=8, gradient_bits=4, rounding="stochastic", subsample=0.8, max_features=0.7)
    run = Rehearsal(make_settings(training=training), make_tables(2))
    states = run.run()
    assert all(len(state.trees) == 8 for state in states.values())
    same_trees(states["a"].trees, states["c"].trees)
    losses = states["a"].losses
    assert len(losses) == 9
    assert losses[-1] < 0.8 * losses[0]
    assert [record.iteration for record in run.records] == list(range(1, 9))


@pytest.mark.long
def test_a_resumed_run_ends_with_the_trees_of_one_that_went_through() -> None:
    training = replace(FINE, max_iter=4)
    tables = make_tables(3)
    whole = Rehearsal(make_settings(training=training, protection="lattice"), tables)
    wanted = whole.run()["b"]
    assert [state.iterations_done for state in whole.saved] == [1, 2, 3, 4]
    resumed = Rehearsal(make_settings(training=training, protection="lattice"), tables, resume_from=whole.saved[1])
    state = resumed.run()["b"]
    same_trees(state.trees, wanted.trees)
    assert state.losses == wanted.losses
    assert [record.iteration for record in resumed.records][-1] == 4


@pytest.mark.long
def test_held_out_rows_end_training_once_nothing_improves() -> None:
    training = replace(FINE, max_iter=60, early_stopping=True, validation_fraction=0.3, n_iter_no_change=3, tol=1e-3)
    state = Rehearsal(make_settings(training=training), make_tables(4)).run()["a"]
    assert state.finished
    assert state.iterations_done < 60
    assert len(state.held_out) == state.iterations_done + 1
    held_out = [metrics["log_loss"] for metrics in state.held_out[:-1]]
    assert min(held_out[-3:]) >= held_out[-4] - 1e-3
    tables = make_tables(4)
    parts = [hold_out_rows(table, 0.3, training.seed)[1] for table in tables.values()]
    features = np.concatenate([part.features for part in parts])
    scores = state.ensemble.raw_scores(bin_rows(features, state.bins))[0]
    found = state.held_out[-1]
    exact = roc_auc_score(np.concatenate([part.labels for part in parts]), scores)
    assert abs(found["auc"] - exact) <= found["auc_error"] + 1e-12
    assert found["auc_error"] < 0.05
    assert state.held_out[0]["rows"] == sum(round(0.3 * rows) for rows in (90, 40, 70))


def test_rows_by_category_and_missing_values_of_all_parties_are_counted_in_the_bins() -> None:
    tables = make_tables(6, missing=True)
    state = Rehearsal(make_settings(), tables).run()["a"]
    pooled = pool(tables).features
    for column, (bins, counts) in enumerate(zip(state.bins, state.counts, strict=True)):
        assert np.array_equal(np.bincount(bins.digits(pooled[:, column]), minlength=bins.bin_count), counts)
    assert state.bins[3].edges.tolist() == [0.5], "a column of 0 and 1 by the job has its bins before any sum"


@pytest.mark.long
@pytest.mark.sealed
def test_the_ledger_of_a_party_says_what_each_sum_told() -> None:
    run = Rehearsal(make_settings(protection="lattice"), make_tables(5))
    run.run()
    ledger = run.sessions["b"].ledger
    assert ledger is not None
    lines = [line for line in ledger.data.decode().splitlines() if "of all parties" in line or "losses" in line]
    for step, what in (
        ("start/cells", "the rows of all parties in "),
        ("start/labels", "rows of all parties by class"),
        ("tree-1/level-0", "gradients, hessians, rows of all parties in "),
        ("tree-2/leaves", " leaves; the losses of the model before"),
        ("final/loss", "the losses of the final model"),
    ):
        assert any(step in line and what in line for line in lines), step


@pytest.mark.long
@pytest.mark.sealed
def test_the_ledger_says_of_rows_held_out_and_of_the_largest_gradients_of_a_regression_that_sums_tell_them() -> None:
    settings = make_settings(class_count=0, protection="lattice", training=replace(FINE, max_iter=1), hold_out=0.2)
    run = Rehearsal(settings, make_tables(5, class_count=0))
    run.run()
    ledger = run.sessions["b"].ledger
    assert ledger is not None
    lines = ledger.data.decode().splitlines()
    for step, what in (
        ("start/residuals", "how many parties have their largest gradient in each of 320 ranges"),
        ("tree-1/leaves", "the losses of the model before, of rows held out too"),
        ("tree-1/leaves", "; how many parties have their largest gradient in each of 64 ranges"),
        ("final/loss", "the losses of the final model, of rows held out too"),
    ):
        assert any(step in line and what in line for line in lines), (step, what)
