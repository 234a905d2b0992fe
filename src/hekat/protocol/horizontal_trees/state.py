"""What a run of trees across rows has come to: equal at every party, and what a checkpoint holds."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from hekat.codec.clip import FloatArray
from hekat.model.trees import ColumnBins, Tree, TreeEnsemble
from hekat.model.trees.rounding import IntArray
from hekat.protocol.secure_sum.agreement.digest_arrays import digest_arrays


@dataclass
class TreesState:
    """The model so far, and what training goes on from.

    `bins` and `counts` are of each column: its bins, and the rows of all parties in them that trees learn from. `reach`
    bounds every row's gradient, by tree, in a regression. `losses` are mean losses of the training rows at the start of
    each iteration, `held_out` metrics of the held-out rows there; the last of each is of the final model, once
    `finished` and measured. `finished`: no iteration follows.
    """

    bins: tuple[ColumnBins, ...]
    counts: tuple[IntArray, ...]
    row_count: int
    start_scores: FloatArray
    reach: FloatArray
    trees: list[tuple[Tree, ...]] = field(default_factory=list)
    losses: list[float] = field(default_factory=list)
    held_out: list[dict[str, float]] = field(default_factory=list)
    finished: bool = False
    measured: bool = False

    @property
    def iterations_done(self) -> int:
        """How many iterations are in the model."""
        return len(self.trees)

    @property
    def ensemble(self) -> TreeEnsemble:
        """The model so far."""
        return TreeEnsemble(self.start_scores, tuple(self.trees))

    def copy(self) -> TreesState:
        """The same state with lists of its own; trees and bins never change."""
        return TreesState(
            self.bins,
            self.counts,
            self.row_count,
            self.start_scores.copy(),
            self.reach.copy(),
            list(self.trees),
            list(self.losses),
            [dict(metrics) for metrics in self.held_out],
            self.finished,
            self.measured,
        )

    def reopened(self) -> TreesState:
        """A state of the same model from which training goes on: its losses are told again by the next iteration."""
        again = self.copy()
        again.finished = again.measured = False
        again.losses, again.held_out = again.losses[: self.iterations_done], again.held_out[: self.iterations_done]
        return again


def digest_trees(state: TreesState, key: bytes) -> bytes:
    """A keyed digest of bins, start and all trees; equal only where every byte is."""
    arrays: list[npt.NDArray[Any]] = [state.start_scores, state.reach]
    for bins, counts in zip(state.bins, state.counts, strict=True):
        arrays += [bins.edges, counts]
    for tree in (tree for iteration in state.trees for tree in iteration):
        arrays += [tree.column, tree.left, tree.right, tree.value, tree.gain, tree.count, tree.left_bins]
    return digest_arrays(key, b"trees", arrays)


def encode_totals(state: TreesState) -> bytes:
    """All totals of sums beside the model, as bytes; equal where all totals are."""
    totals = {"rows": state.row_count, "losses": state.losses, "held_out": state.held_out, "finished": state.finished}
    return json.dumps(totals, sort_keys=True).encode()


def padded_counts(state: TreesState) -> IntArray:
    """`counts` in one array, (columns, most bins)."""
    padded = np.zeros((len(state.counts), max(one.size for one in state.counts)), dtype=np.int64)
    for row, counts in zip(padded, state.counts, strict=True):
        row[: counts.size] = counts
    return padded
