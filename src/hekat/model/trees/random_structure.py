"""A full tree whose splits are drawn from a public seed, without a look at rows: only its leaves are to be valued.

Source: Geurts, Ernst and Wehenkel 2006 (extremely randomised trees), totally random; Maddock et al. 2022, section 4.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from hekat.model.parameters import FloatArray
from hekat.model.trees.column_bins import ColumnBins
from hekat.model.trees.tree import BIN_PLACES, Tree

Interval = tuple[int, int]


@dataclass
class _Nodes:
    """The nodes so far, level by level; of each the bins of every column that its rows may be in, as [first, end)."""

    columns: list[int] = field(default_factory=list)
    children: list[Interval] = field(default_factory=list)
    left_bins: list[np.ndarray] = field(default_factory=list)


def draw_structure(bins: Sequence[ColumnBins], max_depth: int, generator: np.random.PCG64) -> Tree:
    """A tree of `max_depth` levels of splits, each by a column and an edge drawn among those that divide a node.

    Missing values go to a side by a coin. A node that no edge divides is a leaf. Values, gains and counts are 0.

    Args:
        bins: Of each column; numbers alone, no categories.
        max_depth: At least 1.
        generator: Of the public seed: its raw draws are the same wherever NumPy runs.
    """
    nodes = _Nodes()
    level = [tuple((0, one.value_bin_count) for one in bins)]
    for depth in range(max_depth + 1):
        further: list[tuple[Interval, ...]] = []
        place = len(nodes.columns) + len(level)
        for within in level:
            usable = [number for number, (first, end) in enumerate(within) if end - first > 1]
            if depth == max_depth or not usable:
                _append(nodes, -1, (-1, -1), np.zeros(BIN_PLACES, np.bool_))
                continue
            number = usable[_draw(generator, len(usable))]
            first, end = within[number]
            cut = first + 1 + _draw(generator, end - first - 1)
            left_bins = np.arange(BIN_PLACES) < cut
            left_bins[bins[number].missing_bin] = bool(_draw(generator, 2))
            _append(nodes, number, (place + len(further), place + len(further) + 1), left_bins)
            further += [(*within[:number], part, *within[number + 1 :]) for part in ((first, cut), (cut, end))]
        level = further
    count = len(nodes.columns)
    children = np.array(nodes.children, np.int32).reshape(count, 2)
    return Tree(
        column=np.array(nodes.columns, np.int32),
        left=children[:, 0].copy(),
        right=children[:, 1].copy(),
        value=np.zeros(count),
        gain=np.zeros(count),
        count=np.zeros(count, np.int64),
        left_bins=np.array(nodes.left_bins),
    )


def with_leaf_values(tree: Tree, values: FloatArray) -> Tree:
    """The tree with `values` (leaves,) in its leaves, in the order of nodes."""
    filled = np.zeros(tree.node_count)
    filled[tree.column < 0] = values
    return replace(tree, value=filled)


def _append(nodes: _Nodes, column: int, children: Interval, left_bins: np.ndarray) -> None:
    nodes.columns.append(column)
    nodes.children.append(children)
    nodes.left_bins.append(left_bins)


def _draw(generator: np.random.PCG64, count: int) -> int:
    """A whole number below `count`; a remainder of 64 bits is even to 2^-56 for the counts of bins and columns."""
    return int(generator.random_raw()) % count
