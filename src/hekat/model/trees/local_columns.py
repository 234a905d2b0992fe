"""One party's columns while the trees of an iteration grow: which rows are in a node, and its joined bins."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from hekat.model.trees.bin_sums import GRADIENTS, HESSIANS, ROWS, BinSums, regroup
from hekat.model.trees.binned_table import BinnedTable
from hekat.model.trees.joining import JoinedBins, join_root_bins, join_small_bins
from hekat.model.trees.local_sums import count_bins, sum_bins
from hekat.model.trees.node import AskedNode, BoolArray, NodeId, Split
from hekat.model.trees.rounding import GradientLevels, IntArray


@dataclass(frozen=True)
class _NodeBins:
    """A node's rows by bin, shape (C, B), and its joined bins (of one node)."""

    counts: IntArray = field(repr=False)
    joined: JoinedBins = field(repr=False)


class LocalColumns:
    """The columns of `table`, which are `first_column`, ... among all parties' columns.

    `least_rows`, shape (columns,): no joined bin of a column holds fewer rows, 0: bins are not joined. Rows that train
    are those that `start` names; all counts are of these.
    """

    def __init__(self, table: BinnedTable, least_rows: IntArray, first_column: int = 0) -> None:
        self._table = table
        self._least_rows = least_rows
        self._first_column = first_column
        self._is_category = np.array([bins.is_category for bins in table.bins], bool)
        self._own_bin_counts = np.array([bins.bin_count for bins in table.bins], np.int64)
        self._is_sampled = np.ones(table.column_count, bool)
        self._rows: dict[NodeId, IntArray] = {}
        self._bins: dict[NodeId, _NodeBins] = {}

    @property
    def table(self) -> BinnedTable:
        return self._table

    @property
    def is_category(self) -> BoolArray:
        return self._is_category

    @property
    def first_column(self) -> int:
        """The number of the first of these columns among all parties' columns."""
        return self._first_column

    def joined_of(self, node: NodeId) -> JoinedBins:
        """The joined bins of a node whose sums were asked, or of its sibling: arrays without the axis of nodes."""
        return self._bins[node].joined

    def joined_rows_of(self, node: NodeId) -> IntArray:
        """The rows of such a node by joined bin, shape (columns, widest column)."""
        kept = self._bins[node]
        rows: IntArray = regroup(kept.counts[None, None], kept.joined.groups[None], kept.counts.shape[-1])[0, 0]
        return rows

    def start(self, rows: IntArray, tree_count: int, is_sampled: BoolArray | None = None) -> None:
        """Begin the trees of an iteration: `rows`, ascending, train them; columns that are not sampled have no bins."""
        self._is_sampled = np.ones(self._table.column_count, bool) if is_sampled is None else is_sampled
        self._rows = {NodeId(tree, 0): rows for tree in range(tree_count)}
        self._bins = {}

    def rows_of(self, node: NodeId) -> IntArray:
        """The rows of a node that has no children, ascending."""
        return self._rows[node]

    def owns(self, column: int) -> bool:
        """Whether a column among all parties' columns is one of these."""
        return self._first_column <= column < self._first_column + self._table.column_count

    def join_bins(self, asked: Sequence[AskedNode]) -> JoinedBins:
        """The joined bins of nodes, which their siblings share; kept for both."""
        counts = count_bins(self._table.digits, [self._rows[one.node] for one in asked], self._table.widest)
        if asked[0].parent is None:
            joined = join_root_bins(counts, self._own_bin_counts, self._is_category, self._least_rows)
            joined = _without(joined, ~self._is_sampled)
        else:
            joined = self._join_children(asked, counts)
        for n, one in enumerate(asked):
            of_node = JoinedBins(joined.groups[n], joined.bin_counts[n], joined.missing_last[n], joined.from_parent[n])
            self._bins[one.node] = _NodeBins(counts[n], of_node)
            if one.sibling is not None and one.parent is not None:
                self._bins[one.sibling] = _NodeBins(self._bins[one.parent].counts - counts[n], of_node)
        return joined

    def sum_bins(self, asked: Sequence[AskedNode], levels: GradientLevels) -> BinSums:
        """The sums of nodes by their joined bins, with `levels` of all rows of the table."""
        joined = self.join_bins(asked)
        node_rows = [self._rows[one.node] for one in asked]
        trees = [one.node.tree for one in asked]
        sums = sum_bins(self._table.digits, node_rows, trees, levels, self._table.widest)
        width = max(int(joined.bin_counts.max(initial=1)), 1)
        sums = regroup(sums, joined.groups, width)
        sums[:, joined.bin_counts == 0] = 0
        totals = np.empty((3, len(asked)), np.int64)
        totals[ROWS] = [len(rows) for rows in node_rows]
        for n, (rows, tree) in enumerate(zip(node_rows, trees, strict=True)):
            totals[GRADIENTS, n] = levels.gradients[tree, rows].sum()
            totals[HESSIANS, n] = levels.hessians[tree, rows].sum()
        return BinSums(totals, sums, joined.bin_counts, joined.missing_last, joined.from_parent)

    def left_bins(self, split: Split) -> BoolArray:
        """Which of the column's own bins go left, shape (bin_count,), for a split by one of these columns."""
        c = split.column - self._first_column
        node = self._bins[split.node]
        own_count = self._table.bins[c].bin_count
        left = split.left[node.joined.groups[c, :own_count]]
        if not self._root_counts(split.node)[c, own_count - 1]:
            left[-1] = split.unseen_left
        return left

    def goes_left(self, split: Split) -> BoolArray:
        """Whether each row of the node goes left, rows ascending, for a split by one of these columns."""
        c = split.column - self._first_column
        taken: BoolArray = self.left_bins(split)[self._table.digits[c, self._rows[split.node]]]
        return taken

    def divide(self, split: Split, goes_left: BoolArray) -> None:
        """Hand the rows of a node to its children."""
        rows = self._rows.pop(split.node)
        self._rows[split.left_child] = rows[goes_left]
        self._rows[split.right_child] = rows[~goes_left]

    def _root_counts(self, node: NodeId) -> IntArray:
        return self._bins[NodeId(node.tree, 0)].counts

    def _join_children(self, asked: Sequence[AskedNode], counts: IntArray) -> JoinedBins:
        parents = [self._bins[one.parent] for one in asked if one.parent is not None]
        parent = JoinedBins(
            *(
                np.stack([getattr(one.joined, name) for one in parents])
                for name in ("groups", "bin_counts", "missing_last", "from_parent")
            )
        )
        columns = self._first_column + np.arange(self._table.column_count)
        splitting = np.array([one.column for one in asked])[:, None] == columns
        siblings = np.stack([one.counts for one in parents]) - counts
        roots = np.stack([self._bins[NodeId(one.node.tree, 0)].joined.groups for one in asked])
        return join_small_bins(parent, roots, counts, siblings, splitting, self._is_category, self._least_rows)


def _without(joined: JoinedBins, columns: BoolArray) -> JoinedBins:
    """The same, with no bins of some columns."""
    return JoinedBins(
        np.where(columns[:, None], 0, joined.groups).astype(np.uint8),
        np.where(columns, 0, joined.bin_counts),
        joined.missing_last & ~columns,
        np.where(columns[:, None], 0, joined.from_parent).astype(np.uint8),
    )
