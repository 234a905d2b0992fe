"""A host's columns where the partition is hidden from it: the guest joins bins, by rows that are sums themselves."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from hekat.model.trees import AskedNode, BinSums, JoinedBins, NodeId, Split, join_small_bins, regroup
from hekat.protocol.vertical_trees.arithmetic.interface import IntArray, Ranges
from hekat.protocol.vertical_trees.guest_side.host_sums import Bools, HostSums, Told

ROWS_OF_BIN = 0


@dataclass(frozen=True)
class _Node:
    """Rows by joined bin of the root, (C, B), and how a node joins these bins."""

    row_counts: IntArray = field(repr=False)
    joined: JoinedBins = field(repr=False)


class HiddenBins:
    """One host's columns below the roots; `host` and `told` are what it told of the roots."""

    def __init__(self, host: HostSums, told: Told, roots: Sequence[NodeId], least_rows: int) -> None:
        self.host, self.root = host, told
        self._least_rows = np.full(host.column_count, least_rows, np.int64)
        counts = told.bin_counts[0]
        every = np.broadcast_to(np.arange(told.row_counts.shape[-1], dtype=np.uint8), told.row_counts.shape[1:])
        groups = np.where(every < counts[:, np.newaxis], every, np.uint8(0))
        joined = JoinedBins(groups, counts, told.missing_last[0], groups)
        self._root_groups = groups
        self._nodes = {root: _Node(told.row_counts[0], joined) for root in roots}

    def place(self, asked: Sequence[AskedNode], opened: IntArray, totals: IntArray, ranges: Ranges) -> BinSums:
        """The sums of nodes below the root, in joined bins: `opened` (numbers, nodes x components) in the root's.

        Raises ProtocolError where a sum cannot be one of rows of its bin.
        """
        sums = self.host.place(self.root, opened, totals, ranges, shares_rows=True).sums
        joined = self._join(asked, sums[ROWS_OF_BIN])
        joined_width = max(1, int(joined.bin_counts.max(initial=1)))
        regrouped = regroup(sums, joined.groups, joined_width)
        regrouped[:, joined.bin_counts == 0] = 0
        return BinSums(totals, regrouped, joined.bin_counts, joined.missing_last, joined.from_parent)

    def root_left(self, split: Split) -> Bools:
        """Which joined bins of the root go left in a split by one of the host's columns."""
        column = split.column - self.host.first_column
        count = int(self.root.bin_counts[0, column])
        left: Bools = split.left[self._nodes[split.node].joined.groups[column, :count]]
        return left

    def _join(self, asked: Sequence[AskedNode], row_counts: IntArray) -> JoinedBins:
        parents = [self._nodes[one.parent] for one in asked if one.parent is not None]
        names = ("groups", "bin_counts", "missing_last", "from_parent")
        parent = JoinedBins(*(np.stack([getattr(one.joined, name) for one in parents]) for name in names))
        columns = self.host.first_column + np.arange(self.host.column_count)
        splitting = np.array([one.column for one in asked])[:, np.newaxis] == columns
        siblings = np.stack([one.row_counts for one in parents]) - row_counts
        if (siblings < 0).any():
            raise self.host.refused("sums more rows than the node above had", "no more in any bin")
        least, roots = self._least_rows, np.broadcast_to(self._root_groups, parent.groups.shape)
        joined = join_small_bins(parent, roots, row_counts, siblings, splitting, self.host.is_category, least)
        for n, one in enumerate(asked):
            of_node = JoinedBins(*(getattr(joined, name)[n] for name in names))
            self._nodes[one.node] = _Node(row_counts[n], of_node)
            if one.sibling is not None:
                self._nodes[one.sibling] = _Node(siblings[n], of_node)
        return joined
