"""Checkpoints of trees across rows: read back as they were, and refused where anything does not fit."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from hekat.atomic_file import replace_file
from hekat.data import Table
from hekat.errors import StateError
from hekat.model.trees import TreeTraining
from hekat.protocol.horizontal_trees.settings import HorizontalTreesSettings
from hekat.protocol.horizontal_trees.state import TreesState, digest_trees, encode_totals
from hekat.protocol.horizontal_trees.state_arrays import from_arrays, to_arrays
from hekat.protocol.horizontal_trees.training import LocalRun, train
from hekat.protocol.secure_sum.aggregation import Alone
from hekat.protocol.stopwatch import Stopwatch
from hekat.run.horizontal_trees.state_file import load_trees, save_trees
from hekat.state.array_file import decode_arrays, encode_arrays

JOB = bytes(range(32))


@pytest.fixture(scope="module")
def state() -> TreesState:
    """Three classes, so that an iteration has three trees; rows held out, values missing."""
    rng = np.random.default_rng(6)
    features = rng.normal(size=(240, 3))
    labels = np.digitize(features[:, 0] + features[:, 1] ** 2, [0.2, 1.2]).astype(np.int64)
    features[rng.random(features.shape) < 0.05] = np.nan
    training = TreeTraining(max_iter=3, max_depth=3, min_samples_leaf=5, max_bins=10)
    settings = HorizontalTreesSettings(
        ("a", "b", "c"), "hub", ("low", "middle", "high"), 256, protection="none", training=training, hold_out=0.2
    )
    return train(Alone(), Table(features, labels, ("x", "y", "z")), settings, LocalRun(Stopwatch()), party="a")


def test_a_state_is_read_back_as_it_was(state, tmp_path) -> None:
    save_trees(tmp_path / "checkpoint.npz", JOB, state)
    again = load_trees(tmp_path / "checkpoint.npz", JOB)
    assert digest_trees(again, b"key") == digest_trees(state, b"key")
    assert encode_totals(again) == encode_totals(state)
    assert (again.finished, again.measured, again.row_count) == (state.finished, True, 192)


def test_a_state_without_trees_is_one_too(state, tmp_path) -> None:
    empty = replace(state, trees=[], losses=[], held_out=[], measured=False)
    save_trees(tmp_path / "checkpoint.npz", JOB, empty)
    assert load_trees(tmp_path / "checkpoint.npz", JOB).iterations_done == 0


def test_another_job_a_damaged_file_and_another_format_are_refused(state, tmp_path) -> None:
    path: Path = tmp_path / "checkpoint.npz"
    with pytest.raises(StateError):
        load_trees(path, JOB)
    save_trees(path, JOB, state)
    with pytest.raises(StateError, match="belongs to another job"):
        load_trees(path, bytes(32))
    content = path.read_bytes()
    metadata, arrays = decode_arrays(content, "checkpoint of trees", "here")
    replace_file(path, encode_arrays("checkpoint of trees", {**metadata, "version": 2}, arrays))
    with pytest.raises(StateError, match="another format"):
        load_trees(path, JOB)
    path.write_bytes(content[:-40])
    with pytest.raises(StateError, match="damaged"):
        load_trees(path, JOB)


def changed(name: str, change):
    def make(arrays, facts):
        values = arrays[name].copy()
        arrays[name] = change(values)

    return make


def put(place, value):
    def change(values):
        values[place] = value
        return values

    return change


FORGERIES = {
    "a circle": changed("node_left", put(0, 0)),
    "a child beyond the tree": changed("node_right", put(0, 10_000)),
    "a leaf with a child": changed("node_left", lambda values: np.where(values < 0, 1, values)),
    "another column": changed("node_column", put(0, 3)),
    "an infinite leaf": changed("node_value", put(-1, np.inf)),
    "a gain that is none": changed("node_gain", put(0, np.nan)),
    "fewer rows than none": changed("node_count", put(0, -1)),
    "edges that fall": changed("edges", lambda values: values[::-1].copy()),
    "edges of other columns": changed("edge_starts", put(1, 1_000)),
    "other kinds": changed("node_column", lambda values: values.astype(np.int64)),
    "fewer nodes": changed("node_value", lambda values: values[:-1]),
    "fewer bins of nodes": changed("node_left_bins", lambda values: values[:, :-1]),
    "rows that are not there": changed("counts", put(0, -1)),
    "other rows": changed("counts", lambda values: values + 1),
    "half an iteration": changed("start_scores", lambda values: values[:2]),
    "no start": changed("start_scores", lambda values: values[:0]),
    "a bound below zero": changed("reach", put(0, -1.0)),
    "a missing array": lambda arrays, facts: arrays.pop("tree_starts"),
    "a tree without nodes": changed("tree_starts", lambda values: np.insert(values, 0, 0)),
    "other losses": lambda arrays, facts: facts.update(losses=[1.0]),
    "losses in words": lambda arrays, facts: facts.update(losses=["x"] * len(facts["losses"])),
    "other measures": lambda arrays, facts: facts.update(held_out=[{}]),
    "measures in words": lambda arrays, facts: facts.update(held_out=[{"auc": "1"}] * len(facts["held_out"])),
    "losses that are none": lambda arrays, facts: facts.update(losses=[float("nan")] * len(facts["losses"])),
    "measures without a loss": lambda arrays, facts: facts.update(held_out=[{"rows": 3}] * len(facts["held_out"])),
    "a loss beyond reason": lambda arrays, facts: facts.update(held_out=[{"rmse": 1e200}] * len(facts["held_out"])),
    "a missing fact": lambda arrays, facts: facts.pop("measured"),
    "rows in words": lambda arrays, facts: facts.update(rows="many"),
}


@pytest.mark.parametrize("forgery", FORGERIES)
def test_what_no_training_ends_with_is_refused(forgery, state, tmp_path) -> None:
    arrays, facts = to_arrays(state)
    from_arrays(arrays, facts)
    FORGERIES[forgery](arrays, facts)
    path: Path = tmp_path / "checkpoint.npz"
    metadata = {"version": 1, "job_digest": JOB.hex(), **facts}
    replace_file(path, encode_arrays("checkpoint of trees", metadata, arrays))
    with pytest.raises(StateError, match="cannot be resumed"):
        load_trees(path, JOB)
