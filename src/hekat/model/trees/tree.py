"""One grown tree as arrays, and the way of rows through it."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from hekat.model.parameters import FloatArray
from hekat.model.trees.binned_table import BinnedTable
from hekat.model.trees.column_bins import Digits
from hekat.model.trees.node import BoolArray
from hekat.model.trees.rounding import IntArray

NodeArray = npt.NDArray[np.int32]
BIN_PLACES = 256
"""The entries of a node in `left_bins`: one for every bin that a column can have."""


@dataclass(frozen=True)
class Tree:
    """A tree's nodes, level by level from the root, node 0; every array has one entry for each node.

    `column`: the column that splits the node, -1 in a leaf. `left`, `right`: its children, -1 in a leaf. `value`: what
    a leaf adds to a score. `gain`: of the split. `count`: rows that trained the node. `left_bins`, shape (nodes, 256):
    the bins that go left; all false where another party holds the split.
    """

    column: NodeArray
    left: NodeArray
    right: NodeArray
    value: FloatArray = field(repr=False)
    gain: FloatArray = field(repr=False)
    count: IntArray = field(repr=False)
    left_bins: BoolArray = field(repr=False)

    @property
    def node_count(self) -> int:
        return len(self.column)

    @property
    def leaf_count(self) -> int:
        return int((self.column < 0).sum())

    def leaf_of_digits(self, digits: Digits) -> NodeArray:
        """The leaf of each row of `digits`, shape (columns, rows), where all splits are known here."""
        row_count = digits.shape[1]
        is_leaf = self.column < 0
        # A leaf leads to itself, so that all rows take the same number of steps.
        itself = np.arange(self.node_count, dtype=np.int32)
        left, right = np.where(is_leaf, itself, self.left), np.where(is_leaf, itself, self.right)
        starts = np.where(is_leaf, 0, self.column).astype(np.int64) * row_count
        flat, flat_bins = digits.ravel(), self.left_bins.ravel()
        nodes = np.zeros(row_count, np.int64)
        every = np.arange(row_count)
        for _ in range(self.depth):
            taken = flat[starts[nodes] + every]
            nodes = np.where(flat_bins[nodes * BIN_PLACES + taken], left[nodes], right[nodes]).astype(np.int64)
        return nodes.astype(np.int32)

    @property
    def depth(self) -> int:
        """The most splits between the root and a leaf."""
        depths = np.zeros(self.node_count, np.int64)
        for node in np.flatnonzero(self.column >= 0):
            depths[self.left[node]] = depths[self.right[node]] = depths[node] + 1
        return int(depths.max())


@dataclass(frozen=True)
class TreeEnsemble:
    """Trees by iteration, each a tuple of one tree or one for each class, and the scores before the first."""

    start_scores: FloatArray
    trees: tuple[tuple[Tree, ...], ...] = ()

    @property
    def tree_count(self) -> int:
        """How many trees each iteration has."""
        return len(self.start_scores)

    def raw_scores(self, table: BinnedTable) -> FloatArray:
        """The scores of the rows of `table`, shape (tree_count, rows), where all splits are known here."""
        scores = np.repeat(self.start_scores[:, None], table.row_count, axis=1)
        for iteration in self.trees:
            for k, tree in enumerate(iteration):
                scores[k] += tree.value[tree.leaf_of_digits(table.digits)]
        return scores

    def importances(self, column_count: int) -> tuple[FloatArray, IntArray]:
        """(sum of gains, number of splits) of each column, over all trees."""
        gains, counts = np.zeros(column_count), np.zeros(column_count, np.int64)
        for iteration in self.trees:
            for tree in iteration:
                inner = tree.column >= 0
                np.add.at(gains, tree.column[inner], tree.gain[inner])
                np.add.at(counts, tree.column[inner], 1)
        return gains, counts
