"""Histograms of nodes over the rows of all parties, from exact sums, as trees are grown from them.

A party sums its own rows' levels by bin, sends those bins that hold rows in the node's parent, and receives the sums of
all parties. Hessians travel less the middle level for each row, so that no number is larger than a gradient's. The
parties know how many rows of all of them each bin of the parent has: that bounds every number, and so the slots.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from hekat.codec.clip import FloatArray
from hekat.model.trees import AskedNode, BinSums, GradientLevels, NodeId, Split, TreeTraining, sum_bins
from hekat.model.trees.node import BoolArray
from hekat.model.trees.rounding import IntArray
from hekat.protocol.horizontal_trees.check_sums import refuse_counts
from hekat.protocol.horizontal_trees.sums_ahead import leaves_step, level_step
from hekat.protocol.secure_sum.aggregation import Aggregation
from hekat.protocol.secure_sum.agreement.digest_arrays import digest_arrays
from hekat.protocol.secure_sum.integer_sums import sum_integers
from hekat.protocol.stopwatch import Stopwatch

ROOT = 0


@dataclass(frozen=True)
class RowsOfParty:
    """One party's binned rows, and what all parties know of the bins.

    `digits`: uint8 (columns, rows). `bin_counts`: bins of each column, missing values' last. `root_counts`: int64
    (columns, B), rows of all parties in each bin, 0 beyond a column's bins.
    """

    digits: npt.NDArray[np.uint8] = field(repr=False)
    bin_counts: IntArray
    root_counts: IntArray = field(repr=False)

    @property
    def row_count(self) -> int:
        """The rows of this party."""
        return int(self.digits.shape[1])

    @property
    def has_missing(self) -> BoolArray:
        """By column, whether any party's row lacks the value."""
        has: BoolArray = self.root_counts[np.arange(self.bin_counts.size), self.bin_counts - 1] > 0
        return has


class SummedHistograms:
    """One iteration's source of histograms at one party; the other parties' make the same calls.

    `sum_leaf_rows` gives the summed gradients and hessians of leaves, float64 (leaves, 2), given their rows here.
    """

    joins_bins = False

    def __init__(
        self,
        aggregation: Aggregation,
        rows: RowsOfParty,
        training_rows: IntArray,
        levels: GradientLevels,
        training: TreeTraining,
        columns: BoolArray,
        *,
        iteration: int,
        party_total: int,
        weight_max: int,
        digest_key: bytes,
        stopwatch: Stopwatch,
        sum_leaf_rows: Callable[[str, Sequence[NodeId], Sequence[IntArray]], FloatArray],
        note: Callable[[str, str], None] = lambda step, what: None,
    ) -> None:
        """`training_rows`, ascending: the rows of this party that the iteration uses; `columns`: which ones it uses.

        `note` is told what each sum tells.
        """
        self._aggregation, self._rows, self._levels = aggregation, rows, levels
        self._rows_of = {NodeId(tree, ROOT): training_rows for tree in range(levels.tree_count)}
        self._columns = np.flatnonzero(columns)
        self._iteration, self._weight_max, self._digest_key = iteration, weight_max, digest_key
        self._stopwatch, self._sum_leaf_rows, self._note = stopwatch, sum_leaf_rows, note
        self._level_size = 1 << (training.gradient_bits - 1)
        self._depth = 0
        self._party_total, self.party_count = party_total, 0
        """Of the run, and how many parties' rows the last sum held."""
        self._untold: tuple[str, bytes] | None = None
        # By node whose histogram is known: rows of all parties in each bin, (used columns, B).
        self._counts: dict[NodeId, IntArray] = {}
        self._parents: dict[NodeId, NodeId] = {}
        self.is_category = np.zeros(rows.bin_counts.size, dtype=np.bool_)
        self.gradient_scales, self.hessian_scales = levels.gradient_scales, levels.hessian_scales

    def sum_bins(self, asked: Sequence[AskedNode]) -> BinSums:
        """The sums of the asked nodes. Raises ProtocolError where they fit no rows."""
        step = level_step(self._iteration, self._depth)
        self._tell(is_last=False)
        nodes = [one.node for one in asked]
        most = np.stack([self._most_rows(node) for node in nodes])
        with self._stopwatch.measure("histograms"):
            own = self._own_sums(nodes)
        chosen = most > 0
        parts = {"gradients": own[1][chosen], "rows": own[0][chosen]}
        if not self._levels.has_constant_hessian:
            parts["hessians"] = own[2][chosen] - self._level_size * own[0][chosen]
        maximum = min(int(most.max()), self._weight_max) * self._level_size
        result = sum_integers(self._aggregation, step, parts, maximum=maximum, weight_max=self._weight_max)
        summed, self.party_count = result.tensors, result.party_count
        sums = np.zeros(own.shape, dtype=np.int64)
        sums[0][chosen], sums[1][chosen] = summed["rows"], summed["gradients"]
        if self._levels.has_constant_hessian:
            sums[2] = sums[0]
        else:
            sums[2][chosen] = summed["hessians"] + self._level_size * summed["rows"]
        self._check(step, sums, most)
        summed_parts, bins = ", ".join(sorted(parts)), int(chosen.sum())
        self._note(step, f"{summed_parts} of {self.whose} in {bins} bins (nodes: {len(nodes)})")
        self._remember(asked, sums[0])
        self._untold = step, digest_arrays(self._digest_key, step.encode(), [sums])
        self._depth += 1
        return self._as_bin_sums(sums)

    @property
    def whose(self) -> str:
        """Whose rows the last sum held, in words."""
        is_all = self.party_count == self._party_total
        return "all parties" if is_all else f"{self.party_count} of {self._party_total} parties"

    def split_nodes(self, splits: Sequence[Split]) -> Sequence[BoolArray | None]:
        """Move this party's rows to the children; the bins of each split that go left, over the column's own bins."""
        masks: list[BoolArray | None] = []
        for split in splits:
            mask = np.full(self._rows.bin_counts[split.column], split.unseen_left)
            mask[: split.left.size] = split.left
            here = self._rows_of.pop(split.node)
            goes_left = mask[self._rows.digits[split.column, here]]
            self._rows_of[split.left_child], self._rows_of[split.right_child] = here[goes_left], here[~goes_left]
            self._parents[split.left_child] = self._parents[split.right_child] = split.node
            masks.append(mask)
        return masks

    def sum_leaves(self, leaves: Sequence[NodeId]) -> FloatArray:
        """The summed gradients and hessians of the rows of each leaf, (leaves, 2)."""
        self._tell(is_last=True)
        rows = [self._rows_of[leaf] for leaf in leaves]
        return self._sum_leaf_rows(leaves_step(self._iteration), leaves, rows)

    def _tell(self, *, is_last: bool) -> None:
        """Tell the aggregator, once it is known, whether the sum before was the last one of histograms."""
        if self._untold is not None:
            step, digest = self._untold
            self._aggregation.say_next(step, digest, is_last)
            self._untold = None

    def _own_sums(self, nodes: Sequence[NodeId]) -> IntArray:
        """Of this party's rows: (3, nodes, used columns, B)."""
        digits = self._rows.digits
        if self._columns.size < digits.shape[0]:
            digits = digits[self._columns]
        rows = [self._rows_of[node] for node in nodes]
        trees = [node.tree for node in nodes]
        own: IntArray = sum_bins(digits, rows, trees, self._levels, self._rows.root_counts.shape[1])
        return own

    def _most_rows(self, node: NodeId) -> IntArray:
        """How many rows of all parties the node has in each bin at most, (used columns, B)."""
        if node.node == ROOT:
            return self._rows.root_counts[self._columns]
        return self._counts[self._parents[node]]

    def _remember(self, asked: Sequence[AskedNode], counts: IntArray) -> None:
        """Keep the counts of nodes that may be parents."""
        for one, own in zip(asked, counts, strict=True):
            self._counts[one.node] = own
            if one.sibling is not None:
                self._counts[one.sibling] = self._counts[self._parents[one.node]] - own

    def _check(self, step: str, sums: IntArray, most: IntArray) -> None:
        rows, gradients, hessians = sums
        totals = sums.sum(axis=3)
        fits = (
            (rows >= 0).all()
            and (rows <= most).all()
            and (totals == totals[:, :, :1]).all()
            and (np.abs(gradients) <= self._level_size * rows).all()
            and (hessians >= 0).all()
            and (hessians <= 2 * self._level_size * rows).all()
        )
        if not fits:
            refuse_counts(step)

    def _as_bin_sums(self, sums: IntArray) -> BinSums:
        """The same in the form of all columns, with every bin by itself."""
        rows = self._rows
        node_count, width = sums.shape[1], sums.shape[3]
        all_sums = np.zeros((3, node_count, rows.bin_counts.size, width), dtype=np.int64)
        all_sums[:, :, self._columns] = sums
        bin_counts = np.zeros((node_count, rows.bin_counts.size), dtype=np.int64)
        bin_counts[:, self._columns] = (rows.bin_counts - ~rows.has_missing)[self._columns]
        return BinSums(
            totals=sums[:, :, 0].sum(axis=2),
            sums=all_sums,
            bin_counts=bin_counts,
            missing_last=np.broadcast_to(rows.has_missing, bin_counts.shape),
            from_parent=np.broadcast_to(np.arange(width, dtype=np.uint8), (*bin_counts.shape, width)),
        )
