"""Grows the trees of one iteration level by level, from sums that a source gives; the same for every kind of source.

For each level: the source sums the smaller child of every divided node, growth subtracts to have the larger one, finds
the best split of each node over all columns, and tells the source, which divides the rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from hekat.model.parameters import FloatArray
from hekat.model.trees.bin_sums import ROWS, BinSums, concatenate_nodes, subtract_from_parent
from hekat.model.trees.node import AskedNode, BoolArray, NodeId, Split
from hekat.model.trees.rounding import IntArray
from hekat.model.trees.settings import TreeTraining
from hekat.model.trees.split_search import BestSplits, find_best_splits
from hekat.model.trees.tree import BIN_PLACES, Tree

LEAST_CHILD_PART = 32
"""Where bins are joined, a child that may be split further keeps one row in so many of its parent's. Joined bins keep k
rows of the smaller child, so a child of few rows would leave its sibling, however large, with few bins or none."""


class HistogramSource(Protocol):
    """Whoever holds rows and columns: one table here, a guest with its hosts, or parties that sum in secret."""

    @property
    def is_category(self) -> BoolArray:
        """Which columns hold categories, shape (C,), columns of all parties in their order."""
        ...

    @property
    def gradient_scales(self) -> FloatArray:
        """What a gradient level stands for, of each tree of the iteration."""
        ...

    @property
    def hessian_scales(self) -> FloatArray:
        """What a hessian level stands for, of each tree of the iteration."""
        ...

    @property
    def joins_bins(self) -> bool:
        """Whether small bins of some columns are joined in the trees of the iteration."""
        ...

    def sum_bins(self, asked: Sequence[AskedNode]) -> BinSums:
        """The sums of the nodes by joined bins, in the order asked. The first call asks for all roots."""
        ...

    def split_nodes(self, splits: Sequence[Split]) -> Sequence[BoolArray | None]:
        """Divide the rows of nodes; the column's own bins that go left, or None where another party holds the split."""
        ...

    def sum_leaves(self, leaves: Sequence[NodeId]) -> FloatArray:
        """Exact sums of first and second derivatives of each leaf's rows, shape (leaves, 2). Asked once, at the end."""
        ...


@dataclass
class _Nodes:
    """A tree while it grows: one entry in each list for each node."""

    column: list[int] = field(default_factory=list)
    left: list[int] = field(default_factory=list)
    right: list[int] = field(default_factory=list)
    gain: list[float] = field(default_factory=list)
    count: list[int] = field(default_factory=list)
    left_bins: dict[int, BoolArray] = field(default_factory=dict)

    def add_leaf(self, count: int) -> int:
        for values, value in ((self.column, -1), (self.left, -1), (self.right, -1), (self.gain, 0.0)):
            values.append(value)  # type: ignore[arg-type]
        self.count.append(count)
        return len(self.column) - 1

    @property
    def leaf_count(self) -> int:
        return sum(column < 0 for column in self.column)

    def finish(self, values: FloatArray) -> Tree:
        """The tree with `values` of its nodes, 0 in inner ones."""
        left_bins = np.zeros((len(self.column), BIN_PLACES), bool)
        for node, bins in self.left_bins.items():
            left_bins[node, : len(bins)] = bins
        column, left, right = (np.array(of, np.int32) for of in (self.column, self.left, self.right))
        return Tree(column, left, right, values, np.array(self.gain), np.array(self.count, np.int64), left_bins)


def grow_trees(source: HistogramSource, training: TreeTraining, tree_count: int) -> list[Tree]:
    """The `tree_count` trees of one iteration, grown side by side; leaves are worth -rate * G / (H + l2)."""
    trees = [_Nodes() for _ in range(tree_count)]
    frontier = [NodeId(k, 0) for k in range(tree_count)]
    sums = source.sum_bins([AskedNode(node) for node in frontier])
    for k, tree in enumerate(trees):
        tree.add_leaf(int(sums.totals[ROWS, k]))
    for depth in range(training.max_depth):
        of_trees = np.array([node.tree for node in frontier])
        scales = (source.gradient_scales[of_trees], source.hessian_scales[of_trees])
        is_last = depth + 1 == training.max_depth
        least = _least_rows(sums.totals[ROWS], training, is_narrow=source.joins_bins and not is_last)
        best = find_best_splits(sums, source.is_category, *scales, training, least)
        chosen = _choose(best.gains, frontier, trees, training)
        if not chosen:
            break
        splits = [_place(trees, frontier[n], n, best, sums) for n in chosen]
        for split, bins in zip(splits, source.split_nodes(splits), strict=True):
            if bins is not None:
                trees[split.node.tree].left_bins[split.node.node] = bins
        if is_last:
            break
        frontier, sums = _next_level(source, training, splits, sums.take(chosen))
        if not frontier:
            break
    return _with_values(source, trees, training)


def _least_rows(row_counts: IntArray, training: TreeTraining, *, is_narrow: bool) -> IntArray:
    """How many rows a child of each node keeps at least, by the node's own."""
    least = np.full(len(row_counts), training.min_samples_leaf)
    return np.maximum(least, row_counts // LEAST_CHILD_PART) if is_narrow else least


def _choose(gains: FloatArray, frontier: list[NodeId], trees: list[_Nodes], training: TreeTraining) -> list[int]:
    """Places of the frontier's nodes to divide, ascending: all that gain, as far as the tree may have leaves."""
    places = np.flatnonzero(gains > -np.inf)
    if training.max_leaf_nodes is None:
        return places.tolist()
    rooms = [training.max_leaf_nodes - tree.leaf_count for tree in trees]
    chosen = []
    for place in places[np.argsort(-gains[places], kind="stable")].tolist():
        if rooms[frontier[place].tree] > 0:
            rooms[frontier[place].tree] -= 1
            chosen.append(place)
    return sorted(chosen)


def _place(trees: list[_Nodes], node: NodeId, n: int, best: BestSplits, sums: BinSums) -> Split:
    """Gives the node its two children."""
    tree = trees[node.tree]
    left_count = int(best.left_totals[ROWS, n])
    right_count = int(sums.totals[ROWS, n]) - left_count
    column = int(best.columns[n])
    children = tree.add_leaf(left_count), tree.add_leaf(right_count)
    tree.left[node.node], tree.right[node.node] = children
    tree.column[node.node], tree.gain[node.node] = column, float(best.gains[n])
    left_child, right_child = (NodeId(node.tree, child) for child in children)
    left = best.left[n, : sums.bin_counts[n, column]]
    return Split(node, left_child, right_child, column, left, float(best.gains[n]), left_count, right_count)


def _next_level(
    source: HistogramSource, training: TreeTraining, splits: list[Split], parents: BinSums
) -> tuple[list[NodeId], BinSums]:
    """The children that could be divided, with their sums: the smaller child asked for, the larger by subtraction."""
    least = 2 * training.min_samples_leaf
    kept = [n for n, split in enumerate(splits) if max(split.left_count, split.right_count) >= least]
    if not kept:
        return [], parents
    asked = [_smaller_child(splits[n]) for n in kept]
    smaller = source.sum_bins(asked)
    larger = subtract_from_parent(parents.take(kept), smaller)
    both = concatenate_nodes([smaller, larger])
    nodes = [one.node for one in asked] + [one.sibling for one in asked if one.sibling is not None]
    # In the order of their places in the trees, so that ties between nodes are broken alike everywhere.
    order = [n for n in sorted(range(len(nodes)), key=nodes.__getitem__) if both.totals[ROWS, n] >= least]
    return [nodes[n] for n in order], both.take(order)


def _smaller_child(split: Split) -> AskedNode:
    is_left = split.left_count <= split.right_count
    node, sibling = (split.left_child, split.right_child) if is_left else (split.right_child, split.left_child)
    return AskedNode(node, split.node, sibling, split.column)


def _with_values(source: HistogramSource, trees: list[_Nodes], training: TreeTraining) -> list[Tree]:
    leaves = [NodeId(k, node) for k, tree in enumerate(trees) for node, column in enumerate(tree.column) if column < 0]
    sums = source.sum_leaves(leaves)
    values = [np.zeros(len(tree.column)) for tree in trees]
    for leaf, (first, second) in zip(leaves, sums.tolist(), strict=True):
        weight = second + training.l2_regularization
        values[leaf.tree][leaf.node] = -training.learning_rate * first / weight if weight > 0 else 0.0
    return [tree.finish(of_tree) for tree, of_tree in zip(trees, values, strict=True)]
