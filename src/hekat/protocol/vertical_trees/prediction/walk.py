"""The scores of rows by trees whose splits several parties hold, from the side of each row at each split."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from hekat.model.trees import Tree
from hekat.protocol.vertical_trees.tree_arrays import OwnedTree

Digits = npt.NDArray[np.uint8]
Bytes = npt.NDArray[np.uint8]
FloatArray = npt.NDArray[np.float64]


def side_bits(columns: Sequence[int], left: Bytes, digits: Digits) -> Bytes:
    """The packed sides (splits, bytes of rows) of rows with `digits` (columns, rows); `left` (splits, 32) is packed."""
    out = np.empty((len(columns), (digits.shape[1] + 7) // 8), np.uint8)
    masks = np.unpackbits(left, axis=1)
    for number, column in enumerate(columns):
        out[number] = np.packbits(masks[number].take(digits[column]))
    return out


def add_leaves(
    scores: FloatArray,
    trees: Sequence[Sequence[OwnedTree]],
    digits: Digits,
    sides: Mapping[str, Bytes],
    owner_of: Sequence[str | None],
) -> None:
    """Add to `scores` (K, rows) what every tree's leaf is worth for each row, tree by tree.

    `digits` (columns, rows) are of the guest's columns; `sides` of each host are packed, (splits, bytes of rows);
    `owner_of` names the host of each of all parties' columns, None for the guest's.
    """
    for iteration in trees:
        for number, one in enumerate(iteration):
            scores[number] += one.tree.value[_leaves(one, digits, sides, owner_of, scores.shape[1])]


def _leaves(
    one: OwnedTree, digits: Digits, sides: Mapping[str, Bytes], owner_of: Sequence[str | None], row_count: int
) -> npt.NDArray[np.int64]:
    """The leaf of each row."""
    tree = one.tree
    inner = np.flatnonzero(tree.column >= 0)
    if not inner.size:
        return np.zeros(row_count, np.int64)
    goes_left = np.empty((inner.size, row_count), np.uint8)
    for place, node in enumerate(inner.tolist()):
        column = int(tree.column[node])
        owner = owner_of[column]
        if owner is None:
            tree.left_bins[node].view(np.uint8).take(digits[column], out=goes_left[place])
        else:
            goes_left[place] = np.unpackbits(sides[owner][one.split_numbers[node]], count=row_count)
    return _walk(tree, inner, goes_left)


def _walk(tree: Tree, inner: npt.NDArray[np.int64], goes_left: Bytes) -> npt.NDArray[np.int64]:
    row_count = goes_left.shape[1]
    # A leaf leads to itself, so that all rows take the same number of steps.
    children = np.tile(np.arange(tree.node_count), (2, 1))
    children[0, inner], children[1, inner] = tree.right[inner], tree.left[inner]
    starts = np.zeros(tree.node_count, np.int64)
    starts[inner] = np.arange(inner.size) * row_count
    every, flat, pairs = np.arange(row_count), goes_left.ravel(), children.T.ravel()
    nodes = np.zeros(row_count, np.int64)
    for _ in range(tree.depth):
        nodes = pairs[2 * nodes + flat[starts[nodes] + every]]
    return nodes
