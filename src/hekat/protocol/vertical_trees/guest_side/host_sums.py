"""A host's columns as the guest sees them: joined bins and rows of each node, checked, and sums in their places."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from hekat.errors import ProtocolError
from hekat.model.trees import AskedNode, BinSums, NodeId, regroup
from hekat.protocol.vertical_trees.arithmetic.bin_layout import BinLayout
from hekat.protocol.vertical_trees.arithmetic.interface import IntArray, Ranges
from hekat.protocol.vertical_trees.messages import HostReadyMessage, JoinedBinsMessage
from hekat.protocol.vertical_trees.sums_plan import MOST_COLUMNS, ROW_RANGE

Bools = npt.NDArray[np.bool_]
MOST_COLUMN_BINS = 256


@dataclass(frozen=True)
class _NodeBins:
    """A node's joined bins: `counts` (C,) of them, `missing_last` (C,), and the rows of each, (C, B)."""

    counts: IntArray
    missing_last: Bools
    row_counts: IntArray = field(repr=False)


@dataclass
class Told:
    """What a host told of the asked nodes of a level, and the layout of the sums that follow."""

    bin_counts: IntArray
    groups: npt.NDArray[np.uint8]
    missing_last: Bools
    row_counts: IntArray
    layout: BinLayout


class HostSums:
    """One host's columns, `first_column` and on among all parties' columns."""

    def __init__(self, host: str, ready: HostReadyMessage, first_column: int, least_rows: int) -> None:
        self.host, self.first_column = host, first_column
        self._own_counts = ready.bin_counts
        self.is_category = ready.is_category.astype(bool)
        self._least_rows = least_rows
        self._nodes: dict[NodeId, _NodeBins] = {}
        self._sampled = np.ones(self.column_count, bool)

    @property
    def column_count(self) -> int:
        return int(self._own_counts.size)

    @property
    def own_bin_counts(self) -> list[int]:
        """How many bins each column has, before any are joined."""
        own: list[int] = self._own_counts.tolist()
        return own

    @property
    def bin_total(self) -> int:
        """All bins of all columns."""
        return int(self._own_counts.sum())

    def owns(self, column: int) -> bool:
        """Whether a column among all parties' columns is this host's."""
        return self.first_column <= column < self.first_column + self.column_count

    def start(self, sampled: Bools) -> None:
        """Begin the trees of an iteration, with the columns that it uses."""
        self._sampled, self._nodes = sampled, {}

    def no_sums(self, node_count: int) -> BinSums:
        """Columns that are not to be split."""
        shape = (node_count, self.column_count)
        zeros = np.zeros((*shape, 1), np.uint8)
        return BinSums(
            np.zeros((3, node_count), np.int64),
            np.zeros((3, *shape, 1), np.int64),
            np.zeros(shape, np.int64),
            np.zeros(shape, bool),
            zeros,
        )

    def bins_in(self, node: NodeId) -> int:
        """How many joined bins all columns have in a node."""
        return int(self._nodes[node].counts.sum())

    def take(self, message: JoinedBinsMessage, asked: Sequence[AskedNode], node_rows: IntArray) -> Told:
        """Check what the host tells of the asked nodes, which have `node_rows` (N,) rows. Raises ProtocolError."""
        is_root = asked[0].parent is None
        nodes = asked[:1] if is_root else list(asked)
        parents = [None if one.parent is None else self._nodes[one.parent] for one in nodes]
        told = self._read(message, [self._roots() if one is None else one for one in parents])
        if is_root:
            self._check_rows(told.row_counts, None, told, np.zeros(told.bin_counts.shape, bool), node_rows[:1])
            self._check_live(told.bin_counts, self._sampled)
            of_root = _NodeBins(told.bin_counts[0], told.missing_last[0], told.row_counts[0])
            self._nodes = {one.node: of_root for one in asked}
            return told
        columns = self.first_column + np.arange(self.column_count)
        splitting = np.array([one.column for one in nodes])[:, np.newaxis] == columns
        before = [one for one in parents if one is not None]
        parent_rows = _stack([one.row_counts for one in before])
        width = told.row_counts.shape[-1]
        taken = min(parent_rows.shape[-1], told.groups.shape[-1])
        regrouped = regroup(parent_rows[np.newaxis, ..., :taken], told.groups[..., :taken], width)[0]
        siblings = np.where(np.arange(width) < told.bin_counts[..., np.newaxis], regrouped - told.row_counts, 0)
        self._check_rows(told.row_counts, siblings, told, splitting, node_rows)
        kept = np.where(splitting, np.stack([one.counts for one in before]), told.bin_counts)
        if not np.array_equal(kept, told.bin_counts):
            raise self.refused("joins bins of a column that split the node above", "its bins as they were")
        for n, one in enumerate(nodes):
            self._nodes[one.node] = _NodeBins(told.bin_counts[n], told.missing_last[n], told.row_counts[n])
            if one.sibling is not None:
                self._nodes[one.sibling] = _NodeBins(told.bin_counts[n], told.missing_last[n], siblings[n])
        return told

    def place(self, told: Told, opened: IntArray, totals: IntArray, ranges: Ranges, *, shares_rows: bool) -> BinSums:
        """The sums of the asked nodes: `opened` (numbers, components) in their places, and the rest of `totals` (3, N).

        `shares_rows`: the nodes are sums of the same rows, as roots are, and each has components of its own. Where
        the partition is hidden, the last components are sums of rows. Raises ProtocolError where a sum cannot be one of
        the rows of its bin.
        """
        width, node_count = len(ranges), totals.shape[1]
        wanted = totals[[1, 2, 0]][:width]
        if shares_rows:
            parts = [
                told.layout.spread(opened[:, n * width : (n + 1) * width], wanted[:, n : n + 1], told.row_counts)
                for n in range(node_count)
            ]
            found = np.concatenate(parts, axis=1)
        else:
            found = told.layout.spread(opened, wanted, told.row_counts)
        counts_rows = ranges[-1] == ROW_RANGE
        row_counts = np.broadcast_to(told.row_counts, found.shape[1:])
        self._check_sums(found, ranges, row_counts)
        if counts_rows:
            row_counts = found[-1]
            self._check_sums(found, ranges, row_counts)
        sums = np.stack([row_counts, found[0], found[1] if width > 1 else row_counts])
        repeat = node_count // told.bin_counts.shape[0]
        return BinSums(
            totals,
            sums,
            np.repeat(told.bin_counts, repeat, axis=0),
            np.repeat(told.missing_last, repeat, axis=0),
            np.repeat(told.groups, repeat, axis=0),
        )

    def _check_sums(self, found: IntArray, ranges: Ranges, row_counts: IntArray) -> None:
        for component, (low, high) in enumerate(ranges):
            if ((found[component] < low * row_counts) | (found[component] > high * row_counts)).any():
                raise self.refused("answers with sums that so many rows cannot have", "sums within a row's range each")

    def _roots(self) -> _NodeBins:
        return _NodeBins(self._own_counts, ~self.is_category, np.zeros((self.column_count, 1), np.int64))

    def _read(self, message: JoinedBinsMessage, parents: Sequence[_NodeBins]) -> Told:
        """The message's arrays in their places. Raises ProtocolError for groups that are none."""
        shape, counts = (len(parents), self.column_count), message.bin_counts
        before = np.stack([one.counts for one in parents])
        if counts.shape != shape or (counts < 0).any() or (counts > before).any() or (counts == 1).any():
            raise self.refused("tells bins that cannot be", "0 bins, or 2 to the parent's, for each node and column")
        is_live = (counts > 0)[..., np.newaxis]
        widest_before, widest = int(before.max(initial=1)), max(1, int(counts.max(initial=1)))
        has_group = is_live & (np.arange(widest_before) < before[..., np.newaxis])
        has_rows = is_live & (np.arange(widest) < counts[..., np.newaxis])
        if message.groups.shape != (int(has_group.sum()),) or message.row_counts.shape != (int(has_rows.sum()),):
            raise self.refused("tells groups of bins that cannot be", "one for each of the parent's bins")
        groups = np.zeros(has_group.shape, np.uint8)
        groups[has_group] = message.groups
        self._check_groups(groups, has_group, counts)
        row_counts = np.zeros(has_rows.shape, np.int64)
        row_counts[has_rows] = message.row_counts
        # Missing values have a joined bin of their own where their bin was apart before, and nothing joined it.
        last = np.maximum(before - 1, 0)[..., np.newaxis]
        with_last = (groups == np.take_along_axis(groups, last, axis=-1)) & has_group
        apart = np.stack([one.missing_last for one in parents]) & (with_last.sum(axis=-1) == 1) & (counts > 0)
        return Told(counts, groups, apart, row_counts, BinLayout.of(row_counts))

    def _check_groups(self, groups: npt.NDArray[np.uint8], has_group: Bools, counts: IntArray) -> None:
        numbers = groups.astype(np.int64)
        if (numbers >= np.maximum(counts, 1)[..., np.newaxis]).any():
            raise self.refused("joins bins to one that does not exist", "numbers below the count of joined bins")
        node, column, _ = np.nonzero(has_group)
        is_used = np.zeros((*counts.shape, int(counts.max(initial=1)) + 1), bool)
        is_used[node, column, numbers[has_group]] = True
        if not np.array_equal(is_used.sum(axis=-1), counts):
            raise self.refused("tells joined bins that are empty", "one bin at least in each")
        steps = np.diff(numbers, axis=-1)
        in_order = has_group[..., 1:] & ~self.is_category[:, np.newaxis]
        if (in_order & ((steps < 0) | (steps > 1))).any() or (numbers[..., 0] * ~self.is_category).any():
            raise self.refused("joins bins of a number that are no neighbours", "groups of neighbours, in order")

    def _check_live(self, counts: IntArray, sampled: Bools) -> None:
        if (counts[:, ~sampled] > 0).any():
            raise self.refused("tells bins of a column that this iteration does not use", "0 bins")

    def _check_rows(
        self, rows: IntArray, siblings: IntArray | None, told: Told, splitting: Bools, node_rows: IntArray
    ) -> None:
        """Hold the rows of joined bins to the nodes' own and to the least of a bin."""
        is_live = told.bin_counts > 0
        # No bin has more rows than its node: sums of what it tells cannot wrap.
        is_possible = (rows >= 0).all() and (rows <= node_rows[:, np.newaxis, np.newaxis]).all()
        if not is_possible or not np.array_equal(rows.sum(axis=-1)[is_live], _spread(node_rows, is_live)):
            raise self.refused("counts other rows than a node has", "rows of joined bins that add up to the node's")
        is_bin = np.arange(rows.shape[-1]) < told.bin_counts[..., np.newaxis]
        is_held = is_bin & ~splitting[..., np.newaxis]
        least = rows if siblings is None else np.minimum(rows, siblings)
        if (least[is_held] < self._least_rows).any():
            raise self.refused("tells bins of too few rows", f"{self._least_rows:,} rows in both children")
        if siblings is not None and (siblings < 0).any():
            raise self.refused("counts more rows than the node above had", "no more in any bin")

    def refused(self, what: str, expected: str) -> ProtocolError:
        """An error that names the host."""
        return ProtocolError(
            f"{self.host} {what}",
            expected=expected,
            got="something else",
            cure="find out what runs there: this release does not send that",
        )


def check_columns(host: str, ready: HostReadyMessage) -> None:
    """Raise ProtocolError for columns that cannot be."""
    counts, kinds = ready.bin_counts, ready.is_category
    if (
        counts.ndim != 1
        or not 1 <= counts.size <= MOST_COLUMNS
        or kinds.shape != counts.shape
        or (kinds > 1).any()
        or (counts < 2).any()
        or (counts > MOST_COLUMN_BINS).any()
    ):
        raise ProtocolError(
            f"{host} has columns that cannot be",
            expected=f"1 to {MOST_COLUMNS} columns of 2 to {MOST_COLUMN_BINS} bins, missing values in one",
            got="others",
            cure="find out what runs there: this release does not send such counts",
        )


def _spread(node_rows: IntArray, is_live: Bools) -> IntArray:
    return np.broadcast_to(node_rows[:, np.newaxis], is_live.shape)[is_live]


def _stack(arrays: Sequence[IntArray]) -> IntArray:
    width = max(array.shape[-1] for array in arrays)
    return np.stack([np.pad(array, ((0, 0), (0, width - array.shape[-1]))) for array in arrays])
