"""Trees with differential privacy: noised sums of leaves open, nothing else, and with all the noise that is claimed."""

from __future__ import annotations

import json
import threading
from dataclasses import replace

import numpy as np
import pytest
from tests.protocol.horizontal_trees.private.private_rehearsal import private
from tests.protocol.horizontal_trees.trees_rehearsal import PARTIES, Rehearsal, make_tables, pool

from hekat.errors import BudgetError, PartyStoppedError
from hekat.model.trees import TreeTraining, bin_rows, make_objective
from hekat.privacy.accounting.leaf_sums import LEVELS
from hekat.protocol.horizontal_trees.private import training
from hekat.protocol.horizontal_trees.private.settings import SHRINKING_STDS

pytest.importorskip("dp_accounting", reason="needs hekat[privacy]")


@pytest.mark.quick_cases("2")
@pytest.mark.parametrize("class_count", [2, 3])
def test_without_noise_leaves_are_sums_of_all_rows(monkeypatch, class_count: int) -> None:
    """One table's rows by the same public splits give the same values, and no party's rows are left out."""
    monkeypatch.setattr(training, "draw_noise", lambda law, shape: np.zeros(shape, np.int64))
    tables, settings = make_tables(5, class_count=class_count, missing=True), private(class_count=class_count)
    run = Rehearsal(settings, tables)
    states = run.run()
    table, state = pool(tables), states["a"]
    assert len({states[name].trees[-1][0].value.tobytes() for name in PARTIES}) == 1
    assert [record.loss for record in run.records] == [None] * 3
    assert (state.finished, state.losses, state.row_count) == (True, [], 0)
    objective, digits = make_objective(class_count), bin_rows(table.features, state.bins).digits
    scores = np.zeros((objective.tree_count, len(table)))
    shrinking = SHRINKING_STDS * settings.leaf_noise.total_std
    for trees in state.trees:
        first, second = objective.gradients(scores, table.labels)
        for number, tree in enumerate(trees):
            leaf = tree.leaf_of_digits(digits)
            for node in np.flatnonzero(tree.column < 0):
                g, h = (np.rint(part[number, leaf == node] * LEVELS).sum() / LEVELS for part in (first, second))
                expected = -settings.training.learning_rate * g / (max(h, 1.0) + shrinking)
                assert tree.value[node] == pytest.approx(expected, abs=1e-12)
            scores[number] += tree.value[leaf]


def test_every_party_adds_its_noise_to_every_sum(monkeypatch) -> None:
    """Thousands of opened sums of nothing but noise (secret draws): 15 % off their variance has a chance below
    10^-9."""
    monkeypatch.setattr(training, "_sum_by_leaf", lambda places, count, derivatives: np.zeros((count, 2), np.int64))
    opened, summed, lock = {}, training.sum_integers, threading.Lock()

    def listen(aggregation, step, tensors, **given):
        found = summed(aggregation, step, tensors, **given)
        with lock:
            opened[step] = found.tensors["tree-0"]
        return found

    monkeypatch.setattr(training, "sum_integers", listen)
    settings = private(training=TreeTraining(max_iter=3, max_depth=10, max_bins=64))
    Rehearsal(settings, make_tables(6)).run()
    assert sorted(opened) == ["tree-1/leaves", "tree-2/leaves", "tree-3/leaves"]
    values = np.concatenate([sums.ravel() for sums in opened.values()]).astype(float)
    assert values.size > 4096
    expected = float(settings.leaf_noise.law.variance) * len(PARTIES)
    assert 0.85 < values.var() / expected < 1.15
    # The claim counts on two parties of three.
    assert expected * 2 / 3 >= (settings.leaf_noise.claimed.noise * LEVELS) ** 2


def test_nothing_but_noised_leaves_is_summed() -> None:
    """No cells, no classes, no losses, no rows: what parties and aggregator exchange has no step for them."""
    run = Rehearsal(private(), make_tables(7))
    run.run()
    lines = [line for name in PARTIES for line in run.sessions[name].ledger.data.decode().splitlines()]
    steps = {json.loads(line).get("step", "") for line in lines}
    told = {step for step in steps if step.startswith(("start/", "tree-", "final"))}
    assert {step.split("/")[0] for step in told} == {"tree-1", "tree-2", "tree-3"}
    assert {step.split("/")[1] for step in told} == {"leaves"}


def test_splits_do_not_follow_from_rows() -> None:
    """Other rows, the same seed: the same splits, other values, and counts of no row."""
    one, other = (Rehearsal(private(), make_tables(seed)).run()["a"] for seed in (8, 9))
    for mine, theirs in zip(one.trees, other.trees, strict=True):
        np.testing.assert_array_equal(mine[0].column, theirs[0].column)
        np.testing.assert_array_equal(mine[0].left_bins, theirs[0].left_bins)
        assert not np.array_equal(mine[0].value, theirs[0].value)
        assert mine[0].count.sum() == 0


@pytest.mark.long
def test_a_resumed_training_goes_on_with_its_trees(monkeypatch) -> None:
    """It ends with the trees that a run without a stop has."""
    monkeypatch.setattr(training, "draw_noise", lambda law, shape: np.zeros(shape, np.int64))
    run = Rehearsal(private(), make_tables(8))
    whole = run.run()["a"]
    again = replace(run, resume_from=run.saved[0], records=[], saved=[], sessions={})
    resumed = again.run()["a"]
    for mine, theirs in zip(resumed.trees, whole.trees, strict=True):
        np.testing.assert_array_equal(mine[0].value, theirs[0].value)


def test_an_iteration_is_charged_before_its_sum_leaves(monkeypatch) -> None:
    """A budget that is spent ends the run with nothing of that iteration opened."""
    opened = []
    summed = training.sum_integers
    monkeypatch.setattr(
        training, "sum_integers", lambda *args, **given: opened.append(args[1]) or summed(*args, **given)
    )

    def charge(number, release):
        if number == 2:
            raise BudgetError("the privacy budget is spent")

    settings, tables = private(), make_tables(8)
    run = Rehearsal(settings, tables, charge=charge)
    with pytest.raises(PartyStoppedError) as stopped:
        run.run()
    assert "BudgetError" in str(stopped.value) or isinstance(stopped.value.__cause__, BudgetError)
    assert set(opened) == {"tree-1/leaves"}
