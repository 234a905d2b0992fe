"""Joins neighbouring bins until no sums of a column, added and subtracted over all nodes, tell of fewer than k rows.

A node has rows of a joined bin where its parent has them by finer bins, and so has each node above. k rows in the node
and in its sibling are then not enough: let bin 1 have one row in the node, the rest in its sibling, and bin 2 all rows
in the node. Joined, they have k rows in both; but the joined bin's sum in the node, less bin 2's in the parent, is that
single row. So every joined bin keeps k rows counted as `smaller`: from each bin of the root the rows of the child that
has fewer of them.

That suffices. Add sums of any nodes, times any numbers. Take two children whose own sums, and no sum below them, enter.
At every bin of the root the total differs between the two by the same number over a joined bin, so it is zero in one of
them at most: the rows of the other child, or of both, stay, and they are k at least.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from hekat.model.trees.bin_sums import regroup
from hekat.model.trees.node import BoolArray
from hekat.model.trees.rounding import IntArray

Groups = npt.NDArray[np.uint8]


@dataclass(frozen=True)
class JoinedBins:
    """The joined bins of N nodes by C columns.

    `groups`, shape (N, C, B): the joined bin of each of the column's own bins. `bin_counts`, shape (N, C): how many
    joined bins; 0 where a column cannot keep two of k rows, and then has no sums here. `missing_last`: whether the
    last one holds missing values alone. `from_parent`, shape (N, C, B): the joined bin of each joined bin of the
    parent, or for a root of each own bin.
    """

    groups: Groups = field(repr=False)
    bin_counts: IntArray = field(repr=False)
    missing_last: BoolArray = field(repr=False)
    from_parent: Groups = field(repr=False)


def join_root_bins(
    counts: IntArray, own_bin_counts: IntArray, is_category: BoolArray, least_rows: IntArray
) -> JoinedBins:
    """Joined bins of roots from their rows by bin, `counts`, shape (N, C, B).

    `own_bin_counts`, shape (C,): the bins of each column, the last of them for missing values; `least_rows`, shape
    (C,): k of each column, 0 where nothing needs to be joined.
    """
    shape = counts.shape[:2]
    own = np.broadcast_to(own_bin_counts, shape)
    missing_last = np.broadcast_to(~is_category, shape)
    return _join(counts, own, missing_last, is_category, least_rows)


def join_small_bins(
    parent: JoinedBins,
    root_groups: Groups,
    node_counts: IntArray,
    sibling_counts: IntArray,
    splitting: BoolArray,
    is_category: BoolArray,
    least_rows: IntArray,
) -> JoinedBins:
    """Joined bins that a node and its sibling share: each holds k rows of both, from joined bins of the parent.

    `parent` has the parent of each of the N nodes, `root_groups` the groups of its root, shape (N, C, B);
    `node_counts` and `sibling_counts`, shape (N, C, B), are rows by the column's own bins. `splitting`, shape (N, C),
    marks the column that divided the parent: its joined bins lie in one child or the other, which everybody knows who
    knows the split, and stay as they are.
    """
    width = node_counts.shape[-1]
    smaller = regroup(np.stack([node_counts, sibling_counts]), root_groups, width).min(axis=0)
    # The parent's joined bin of each joined bin of the root; places that no bin has hold no rows.
    of_root = np.zeros_like(parent.groups)
    np.put_along_axis(of_root, root_groups.astype(np.int64), parent.groups, axis=-1)
    smaller = regroup(smaller[np.newaxis], of_root, width)[0]
    joined = _join(smaller, parent.bin_counts, parent.missing_last, is_category, least_rows)
    places = np.arange(width, dtype=np.uint8)
    same = np.where(places < parent.bin_counts[..., None], places, np.uint8(0))
    from_parent = np.where(splitting[..., None], same, joined.groups)
    return JoinedBins(
        np.take_along_axis(from_parent, parent.groups.astype(np.int64), axis=-1),
        np.where(splitting, parent.bin_counts, joined.bin_counts),
        np.where(splitting, parent.missing_last, joined.missing_last),
        from_parent,
    )


def _join(
    smaller: IntArray,
    bin_counts: IntArray,
    missing_last: BoolArray,
    is_category: BoolArray,
    least_rows: IntArray,
) -> JoinedBins:
    """Joins until each joined bin holds k rows of `smaller`, shape (N, C, B)."""
    nodes, columns, width = smaller.shape
    k = np.broadcast_to(least_rows, (nodes, columns)).ravel()
    counts = bin_counts.ravel()
    smaller = smaller.reshape(-1, width)
    places = np.arange(width)
    last = np.maximum(counts - 1, 0)
    every = np.arange(len(k))
    # Missing values keep a bin of their own where they are enough; else they go with the largest values.
    is_apart = missing_last.ravel() & (counts > 1) & (smaller[every, last] >= k)
    is_joinable = places < (counts - is_apart)[:, None]
    # Categories have no order: small ones are joined with small ones, the largest stay alone.
    sorts = np.broadcast_to(is_category, (nodes, columns)).ravel()
    keys = np.where(is_joinable, np.where((sorts & (k > 0))[:, None], -smaller, 0), 1)
    order = np.argsort(keys, axis=1, kind="stable")
    sorted_groups, joined_counts = _join_in_order(
        np.take_along_axis(smaller, order, axis=1), np.take_along_axis(is_joinable, order, axis=1), k
    )
    groups = np.empty((len(k), width), np.int64)
    np.put_along_axis(groups, order, sorted_groups, axis=1)
    groups[~is_joinable] = 0
    groups[is_apart, last[is_apart]] = joined_counts[is_apart]
    joined_counts = joined_counts + is_apart
    is_used = joined_counts >= 2
    shape = (nodes, columns)
    joined = np.where(is_used[:, None], groups, 0).astype(np.uint8).reshape(*shape, width)
    return JoinedBins(
        joined,
        np.where(is_used, joined_counts, 0).reshape(shape),
        (is_apart & is_used).reshape(shape),
        joined,
    )


def _join_in_order(smaller: IntArray, is_joinable: BoolArray, k: IntArray) -> tuple[IntArray, IntArray]:
    """Closes a joined bin as soon as it has k rows; what is left at the end joins the last one."""
    groups = np.empty(smaller.shape, np.int64)
    closed, held = np.zeros(len(k), np.int64), np.zeros(len(k), np.int64)
    for j in range(smaller.shape[1]):
        held += smaller[:, j]
        groups[:, j] = closed
        is_full = is_joinable[:, j] & (held >= k)
        closed += is_full
        held[is_full] = 0
    return np.minimum(groups, np.maximum(closed - 1, 0)[:, None]), closed
