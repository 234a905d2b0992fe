"""Trees that parties grew together, held against those of a plain training on all columns: node by node."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from hekat.model.trees import PlainRun, Tree, TreeTraining, bin_table, make_objective, train_plain
from hekat.protocol.vertical_trees.model_part import MASK_BINS, SPLIT_COLUMNS, SPLIT_LEFT, TreesPart
from hekat.protocol.vertical_trees.tree_arrays import OWN, OwnedTree, read_trees
from trees.data import Columns

NODE_ARRAYS = ("column", "left", "right", "value", "gain", "count")


class DifferentTreesError(AssertionError):
    """A run's trees are not the plain ones: its figures would be of something else."""


def train_joined(columns: Columns, training: TreeTraining) -> PlainRun:
    """The plain booster on the table that nobody has; small bins of the hosts' columns are joined as hosts do."""
    table = bin_table(columns.joined, training.max_bins)
    joined = np.arange(table.column_count) >= columns.features[0].shape[1]
    return train_plain(table, columns.labels, make_objective(2), training, joined=joined)


def check_trees(parts: Mapping[str, TreesPart], columns: Columns, plain: PlainRun) -> None:
    """Raise DifferentTreesError unless every node is the plain one's, hosts' own splits among them."""
    guest, *hosts = columns.parties
    first_columns = np.cumsum([part.shape[1] for part in columns.features])[:-1]
    grown = [tree for iteration in read_trees(parts[guest].arrays) for tree in iteration]
    plainly = [tree for iteration in plain.ensemble.trees for tree in iteration]
    _require(len(grown) == len(plainly), "the number of trees")
    for number, (own, tree) in enumerate(zip(grown, plainly, strict=True)):
        check_nodes(own.tree, tree, NODE_ARRAYS, f"tree {number}")
        # Leaves are the guest's too.
        ours = np.ones(tree.node_count, bool)
        for host, first, end in zip(hosts, first_columns, [*first_columns[1:], np.inf], strict=True):
            of_host = (tree.column >= first) & (tree.column < end)
            ours &= ~of_host
            _check_splits(parts[host], own, tree, np.flatnonzero(of_host), int(first), f"tree {number}, {host}")
        _require(bool((own.split_numbers[ours] == OWN).all()), f"the owner of a split in tree {number}")
        _require(np.array_equal(own.tree.left_bins[ours], tree.left_bins[ours]), f"left_bins of tree {number}")


def check_nodes(own: Tree, plain: Tree, arrays: Sequence[str], what: str) -> None:
    """Raise DifferentTreesError unless these arrays of both trees are equal to the last bit."""
    for name in arrays:
        _require(np.array_equal(getattr(own, name), getattr(plain, name)), f"{name} of {what}")


def _check_splits(
    part: TreesPart,
    own: OwnedTree,
    plain: Tree,
    nodes: np.ndarray[tuple[int], np.dtype[np.int64]],
    first: int,
    what: str,
) -> None:
    """The splits that a host holds for `nodes`: its columns, and the bins that go left."""
    numbers = own.split_numbers[nodes]
    _require(np.array_equal(part.arrays[SPLIT_COLUMNS][numbers], plain.column[nodes] - first), f"columns of {what}")
    left = np.unpackbits(part.arrays[SPLIT_LEFT][numbers], axis=1)[:, :MASK_BINS].astype(bool)
    _require(np.array_equal(left, plain.left_bins[nodes]), f"left_bins of {what}")


def _require(is_same: bool, what: str) -> None:
    if not is_same:
        raise DifferentTreesError(f"trees differ from the plain booster's: {what}")
