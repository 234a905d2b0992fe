"""Sums of gradients by node, column and bin, and what follows from them without asking again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from hekat.model.trees.node import BoolArray
from hekat.model.trees.rounding import IntArray

ROWS, GRADIENTS, HESSIANS = range(3)
"""The components of sums, in their first axis."""


@dataclass(frozen=True)
class BinSums:
    """Sums over the rows of N nodes by C columns' joined bins, whole numbers (int64).

    `totals`, shape (3, N): rows, gradient levels and hessian levels of each node. `sums`, shape (3, N, C, B): the same
    by joined bin; `bin_counts`, shape (N, C), says how many joined bins a column has there, and places beyond
    are 0. No bins: the column is not to be split there. `missing_last`, shape (N, C): the last joined bin holds missing
    values alone. `from_parent`, shape (N, C, bins of the parent): which joined bin has each joined bin of the parent.
    """

    totals: IntArray
    sums: IntArray = field(repr=False)
    bin_counts: IntArray = field(repr=False)
    missing_last: BoolArray = field(repr=False)
    from_parent: npt.NDArray[np.uint8] = field(repr=False)

    @property
    def node_count(self) -> int:
        return int(self.totals.shape[1])

    def take(self, nodes: Sequence[int] | IntArray) -> BinSums:
        """The same of some of the nodes, by place."""
        places = np.asarray(nodes, np.int64)
        return BinSums(
            self.totals[:, places],
            self.sums[:, places],
            self.bin_counts[places],
            self.missing_last[places],
            self.from_parent[places],
        )


def concatenate_columns(parts: Sequence[BinSums]) -> BinSums:
    """The sums of the same nodes by the columns of several parties, in their order; totals are the first party's."""
    return BinSums(
        parts[0].totals,
        np.concatenate(_widened([part.sums for part in parts]), axis=2),
        np.concatenate([part.bin_counts for part in parts], axis=1),
        np.concatenate([part.missing_last for part in parts], axis=1),
        np.concatenate(_widened([part.from_parent for part in parts]), axis=1),
    )


def concatenate_nodes(parts: Sequence[BinSums]) -> BinSums:
    """The sums of several lists of nodes by the same columns, as one list."""
    return BinSums(
        np.concatenate([part.totals for part in parts], axis=1),
        np.concatenate(_widened([part.sums for part in parts]), axis=1),
        np.concatenate([part.bin_counts for part in parts]),
        np.concatenate([part.missing_last for part in parts]),
        np.concatenate(_widened([part.from_parent for part in parts])),
    )


def subtract_from_parent(parent: BinSums, child: BinSums) -> BinSums:
    """The sums of the other children: node by node, the parent's in the child's joined bins, less the child's."""
    width = child.sums.shape[-1]
    groups = child.from_parent
    # A parent may have wider arrays than its children have entries for.
    kept = np.minimum(parent.sums.shape[-1], groups.shape[-1])
    regrouped = regroup(parent.sums[..., :kept], groups[..., :kept], width)
    is_used = np.arange(width) < child.bin_counts[..., None]
    return BinSums(
        parent.totals - child.totals,
        np.where(is_used, regrouped - child.sums, 0),
        child.bin_counts,
        child.missing_last,
        groups,
    )


def regroup(sums: IntArray, groups: npt.NDArray[np.uint8], width: int) -> IntArray:
    """Sums of bins, shape (components, N, C, B), in joined bins `groups` (N, C, B): shape (components, N, C, width)."""
    components, nodes, columns, _ = sums.shape
    out = np.zeros((components, nodes * columns * width), np.int64)
    places = (np.arange(nodes * columns).reshape(nodes, columns, 1) * width + groups).ravel()
    for component, values in zip(out, sums.reshape(components, -1), strict=True):
        np.add.at(component, places, values)
    return out.reshape(components, nodes, columns, width)


def _widened(arrays: Sequence[npt.NDArray[np.generic]]) -> list[npt.NDArray[np.generic]]:
    width = max(array.shape[-1] for array in arrays)
    return [np.pad(a, [(0, 0)] * (a.ndim - 1) + [(0, width - a.shape[-1])]) for a in arrays]
