"""What changes how trees grow: sampling, early stopping, leaf limits, categories; the trees stay the plain ones."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from tests.protocol.vertical_trees.rehearsal import (
    GUEST,
    Rehearsal,
    assert_same_trees,
    make_settings,
    make_tables,
    train_in_the_clear,
)


@pytest.mark.quick_values
@pytest.mark.parametrize(
    "training",
    [
        {"subsample": 0.6, "seed": 3},
        {"max_features": 0.5},
        {"early_stopping": True, "max_iter": 12, "n_iter_no_change": 2, "learning_rate": 0.9, "tol": 0.01},
        {"max_leaf_nodes": 4},
        {"rounding": "nearest", "gradient_bits": 20},
        {"max_depth": 1},
        {"min_samples_leaf": 40},
    ],
    ids=str,
)
@pytest.mark.parametrize("task", ["binary", "multiclass"])
def test_trees_are_the_plain_ones_however_they_grow(training: dict[str, Any], task: str) -> None:
    tables = make_tables(2, 240, (2, 3), task=task, missing=0.05)
    settings = make_settings(1, task, training=training)
    rehearsal = Rehearsal(settings, tables)
    plain = train_in_the_clear(tables, settings)
    assert_same_trees(rehearsal.run(), plain)
    losses = [(record.loss, record.validation_loss) for record in rehearsal.records[GUEST]]
    np.testing.assert_allclose(
        np.array(losses, float), np.array([(loss.training, loss.held_out) for loss in plain.losses], float)
    )


@pytest.mark.parametrize("protection", ["none", "lattice"])
def test_categories_of_hosts_divide_by_sets(protection: str) -> None:
    tables = make_tables(4, 300, (1, 2))
    rng = np.random.default_rng(5)
    categories = rng.integers(0, 6, 300)
    labels = ((categories % 2) ^ (rng.random(300) < 0.1)).astype(np.int64)
    features = np.array(tables["shop"].features)
    features[:, 1] = categories
    tables["bank"] = replace(tables["bank"], labels=labels)
    tables["shop"] = replace(tables["shop"], features=features, categories=("shop-1",))
    settings = make_settings(1, protection=protection)
    parts = Rehearsal(settings, tables).run()
    assert_same_trees(parts, train_in_the_clear(tables, settings))
    assert 2 in parts[GUEST].arrays["node_column"]


def test_the_first_trees_may_use_the_columns_of_the_guest_alone() -> None:
    tables = make_tables(6, 200, (2, 3))
    settings = make_settings(1, label_party_first_trees=2, training={"max_iter": 4})
    rehearsal = Rehearsal(settings, tables)
    parts = rehearsal.run()
    starts, columns = parts[GUEST].arrays["tree_starts"], parts[GUEST].arrays["node_column"]
    assert columns[: starts[2]].max() < 2 <= columns[starts[2] :].max()
    own = train_in_the_clear({GUEST: tables[GUEST]}, replace(settings, label_party_first_trees=0), only=(GUEST,))
    for name in ("column", "value"):
        trees = [getattr(tree, name) for iteration in own.ensemble.trees[:2] for tree in iteration]
        np.testing.assert_array_equal(parts[GUEST].arrays[f"node_{name}"][: starts[2]], np.concatenate(trees))
    steps = {step.split("/")[0] for _, step, message in rehearsal.sent[GUEST] if "gradients" in step}
    assert steps == {"tree-3", "tree-4"}
