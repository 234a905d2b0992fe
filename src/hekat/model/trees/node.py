"""Nodes of the trees of one iteration, and what growth says about them to whoever holds columns."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

BoolArray = npt.NDArray[np.bool_]


class NodeId(NamedTuple):
    """A node: the tree among the trees of its iteration, and the place in that tree's arrays (the root is 0)."""

    tree: int
    node: int


@dataclass(frozen=True)
class AskedNode:
    """A node whose sums growth needs; a root has no parent. `sibling`'s sums follow by subtraction from `parent`'s.

    `column`: the column (of all parties') that split the parent; -1 for a root.
    """

    node: NodeId
    parent: NodeId | None = None
    sibling: NodeId | None = None
    column: int = -1


@dataclass(frozen=True)
class Split:
    """A node divided by one column: rows whose joined bin is true in `left` go to `left_child`.

    `left` has one entry for each joined bin of the column in the node. Counts are rows that train the tree.
    `unseen_left` says where values go that no such row had at the root: to the larger child.
    """

    node: NodeId
    left_child: NodeId
    right_child: NodeId
    column: int
    left: BoolArray = field(repr=False)
    gain: float
    left_count: int
    right_count: int

    @property
    def unseen_left(self) -> bool:
        return self.left_count >= self.right_count
