"""Whole trainings: the trees are those of a plain training on all columns, node by node."""

from __future__ import annotations

import pytest
from tests.protocol.vertical_trees.rehearsal import (
    Rehearsal,
    assert_same_trees,
    make_settings,
    make_tables,
    train_in_the_clear,
)

from hekat.protocol.vertical_trees.timing_labels import DECRYPT


@pytest.mark.quick_values
@pytest.mark.parametrize("protection", ["none", "lattice"])
@pytest.mark.parametrize("task", ["binary", "regression", "multiclass"])
@pytest.mark.parametrize("columns", [(3, 3), (0, 4), (2, 2, 3)])
def test_trees_are_the_plain_ones(protection: str, task: str, columns: tuple[int, ...]) -> None:
    tables = make_tables(1, 200, columns, task=task, missing=0.1)
    settings = make_settings(len(columns) - 1, task, protection=protection)
    parts = Rehearsal(settings, tables).run()
    assert_same_trees(parts, train_in_the_clear(tables, settings))


@pytest.mark.quick_values
@pytest.mark.parametrize("protection", ["none", "lattice"])
@pytest.mark.parametrize("task", ["binary", "regression", "multiclass"])
def test_trees_are_the_plain_ones_where_hosts_do_not_hear_of_nodes(protection: str, task: str) -> None:
    tables = make_tables(3, 240, (2, 3, 2), task=task, missing=0.1)
    training = {"max_iter": 2, "subsample": 0.9, "max_features": 0.9}
    settings = make_settings(2, task, protection=protection, hide_partition=True, training=training)
    rehearsal = Rehearsal(settings, tables)
    assert_same_trees(rehearsal.run(), train_in_the_clear(tables, settings))


@pytest.mark.sealed
def test_sealed_runs_end_alike_and_their_ledgers_say_what_was_told() -> None:
    tables = make_tables(3, 150, (2, 2))
    settings = make_settings(1, protection="lattice", training={"max_iter": 1, "max_depth": 2})
    rehearsal = Rehearsal(settings, tables)
    assert_same_trees(rehearsal.run(), train_in_the_clear(tables, settings))
    ledger = rehearsal.sessions["shop"].ledger
    assert ledger is not None
    assert rehearsal.sessions["shop"].sent_bytes > 0
    # A host opens seals as the guest does, but decrypts nothing.
    assert {"send", "open"} <= rehearsal.sessions["shop"].stopwatch.seconds.keys()
    assert {name for name, one in rehearsal.sessions.items() if DECRYPT in one.stopwatch.seconds} == {"bank"}
