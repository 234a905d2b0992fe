"""A guest's trees as arrays by name, as a model file and a state hold them, and back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from hekat.model.trees import Tree

IntArray = npt.NDArray[np.int64]
OWN = -1
"""The split number of a node that is the guest's own, or a leaf."""
_PLAIN = ("column", "left", "right", "value", "gain", "count")


@dataclass(frozen=True)
class OwnedTree:
    """A tree of the guest; `split_numbers` int64 (nodes,) numbers the splits of the column's owner, OWN elsewhere."""

    tree: Tree
    split_numbers: IntArray = field(repr=False)


def trees_as_arrays(
    start_scores: npt.NDArray[np.float64], trees: Sequence[Sequence[OwnedTree]]
) -> dict[str, npt.NDArray[Any]]:
    """Trees by iteration as arrays: their nodes one tree after the other, and where each tree begins."""
    flat = [one for iteration in trees for one in iteration]
    starts = np.cumsum([0, *(one.tree.node_count for one in flat)])
    left_bins = [np.packbits(one.tree.left_bins, axis=1) for one in flat]
    arrays: dict[str, npt.NDArray[Any]] = {"start_scores": start_scores, "tree_starts": starts.astype(np.int64)}
    dtypes = {"value": np.float64, "gain": np.float64, "count": np.int64}
    for name in _PLAIN:
        kind = dtypes.get(name, np.int32)
        arrays[f"node_{name}"] = np.concatenate([np.zeros(0, kind), *(getattr(one.tree, name) for one in flat)])
    arrays["node_left_bins"] = np.concatenate([np.zeros((0, 32), np.uint8), *left_bins])
    arrays["node_split_number"] = np.concatenate([np.zeros(0, np.int64), *(one.split_numbers for one in flat)])
    return arrays


def read_trees(arrays: Mapping[str, npt.NDArray[Any]]) -> tuple[tuple[OwnedTree, ...], ...]:
    """The trees by iteration in arrays of `trees_as_arrays`."""
    starts, per_iteration = arrays["tree_starts"].tolist(), arrays["start_scores"].size
    flat = []
    for start, end in pairwise(starts):
        nodes = slice(start, end)
        plain = {name: np.array(arrays[f"node_{name}"][nodes]) for name in _PLAIN}
        left_bins = np.unpackbits(arrays["node_left_bins"][nodes], axis=1).astype(bool)
        flat.append(OwnedTree(Tree(**plain, left_bins=left_bins), np.array(arrays["node_split_number"][nodes])))
    return tuple(tuple(flat[n : n + per_iteration]) for n in range(0, len(flat), per_iteration))
