"""Whole trainings: the trees are those of a plain training on all columns, node by node."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.protocol.vertical_trees.rehearsal import GUEST, Rehearsal, make_settings, make_tables, train_in_the_clear

from hekat.protocol.vertical_trees.tree_arrays import read_trees


def assert_same_trees(parts: dict[str, Any], plain: Any) -> None:
    """Every node of the guest's trees is the plain one's: column, children, gain, rows and value."""
    trees = read_trees(parts[GUEST].arrays)
    assert len(trees) == len(plain.ensemble.trees)
    for ours, theirs in zip(trees, plain.ensemble.trees, strict=True):
        for one, tree in zip(ours, theirs, strict=True):
            for name in ("column", "left", "right", "value", "gain", "count"):
                np.testing.assert_array_equal(getattr(one.tree, name), getattr(tree, name), err_msg=name)


@pytest.mark.parametrize("protection", ["none", "lattice"])
@pytest.mark.parametrize("task", ["binary", "regression", "multiclass"])
@pytest.mark.parametrize("columns", [(3, 3), (0, 4), (2, 2, 3)])
def test_trees_are_the_plain_ones(protection: str, task: str, columns: tuple[int, ...]) -> None:
    tables = make_tables(1, 200, columns, task=task, missing=0.1)
    settings = make_settings(len(columns) - 1, task, protection=protection)
    parts = Rehearsal(settings, tables).run()
    assert_same_trees(parts, train_in_the_clear(tables, settings))
