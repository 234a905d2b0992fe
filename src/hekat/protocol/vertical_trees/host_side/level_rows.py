"""A host's view of one level of the trees of an iteration: its nodes, how the guest divided them, and what it asks."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from hekat.errors import ProtocolError
from hekat.model.trees import AskedNode, LocalColumns, NodeId, Split
from hekat.protocol.vertical_trees.arithmetic.interface import IntArray
from hekat.protocol.vertical_trees.messages import LevelMessage
from hekat.protocol.vertical_trees.side_bits import read_sides

Bools = npt.NDArray[np.bool_]
NO_COLUMN = -1


@dataclass
class LevelRows:
    """The rows of each node of the level that growth has come to; `columns` has those that train the trees.

    `others` has, for each node, the rows that pass through without a gradient: held out, or left out by sampling. A
    node's rows are in the order: those that train, then the others.
    """

    guest: str
    columns: LocalColumns
    others: dict[NodeId, IntArray]
    least_rows: int
    nodes: list[NodeId]
    asked: list[AskedNode] = field(default_factory=list)
    own_splits: dict[NodeId, tuple[int, Bools]] = field(default_factory=dict)
    _next_numbers: list[int] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._next_numbers = [1] * len(self.nodes)

    def rows_of(self, node: NodeId) -> tuple[IntArray, IntArray]:
        """The rows of a node that train, and the others."""
        return self.columns.rows_of(node), self.others[node]

    def take_roots(self, message: LevelMessage) -> None:
        """Begin at the roots. Raises ProtocolError for a message that divides something or does not ask for all."""
        if message.split.size or message.sides or message.asked.tolist() != list(range(len(self.nodes))):
            raise _refused(self.guest, "begins trees otherwise than at their roots", f"{len(self.nodes)} roots asked")
        self.asked = [AskedNode(node) for node in self.nodes]

    def divide(self, message: LevelMessage) -> None:
        """Divide nodes as the guest says. Raises ProtocolError for nodes, rows or children that cannot be.

        A child of fewer than `least_rows` rows would tell the guest of single rows.
        """
        split = message.split
        if split.shape != (len(self.nodes),) or (split > 1).any():
            raise _refused(
                self.guest, "splits nodes that do not exist", f"a 0 or 1 for each of {len(self.nodes)} nodes"
            )
        chosen = [self.nodes[place] for place in np.flatnonzero(split)]
        owed = [node for node in self.own_splits if node not in chosen]
        if owed:
            raise _refused(self.guest, "leaves out a split that it asked of this host", "all of them")
        counts = [tuple(map(len, self.rows_of(node))) for node in chosen]
        sides = read_sides(message.sides, sum(map(sum, counts)), self.guest)
        children, parents, at = [], [], 0
        for node, (training, passing) in zip(chosen, counts, strict=True):
            of_node = sides[at : at + training + passing]
            at += training + passing
            left_count = int(of_node[:training].sum())
            if min(left_count, training - left_count) < self.least_rows:
                raise _refused(self.guest, "splits a node into too few rows", f"{self.least_rows:,} rows in each child")
            column, own_sides = self.own_splits.get(node, (NO_COLUMN, None))
            if own_sides is not None and not np.array_equal(own_sides, of_node):
                raise _refused(self.guest, "divides a node otherwise than this host's split", "the sides it was sent")
            left, right = (NodeId(node.tree, self._next_numbers[node.tree] + n) for n in range(2))
            self._next_numbers[node.tree] += 2
            split_of = Split(node, left, right, column, np.zeros(0, bool), 0.0, left_count, training - left_count)
            self.columns.divide(split_of, of_node[:training])
            passed = self.others.pop(node)
            self.others[left], self.others[right] = passed[of_node[training:]], passed[~of_node[training:]]
            children += [left, right]
            parents.append((node, column))
        self.own_splits = {}
        self.nodes = children
        self.asked = self._read_asked(message.asked, parents)

    def _read_asked(self, asked: IntArray, parents: list[tuple[NodeId, int]]) -> list[AskedNode]:
        pairs = asked // 2
        if asked.ndim != 1 or (asked < 0).any() or (asked >= len(self.nodes)).any() or (np.diff(pairs) <= 0).any():
            raise _refused(self.guest, "asks for nodes that cannot be", "one child at most of each split node")
        found = []
        for place in asked.tolist():
            node, sibling = self.nodes[place], self.nodes[place ^ 1]
            sizes = len(self.columns.rows_of(node)), len(self.columns.rows_of(sibling))
            if sizes[0] > sizes[1] or (sizes[0] == sizes[1] and place % 2):
                raise _refused(self.guest, "asks for the larger child of a node", "the smaller, or the left of equals")
            parent, column = parents[place // 2]
            found.append(AskedNode(node, parent, sibling, column))
        return found


def _refused(guest: str, what: str, expected: str) -> ProtocolError:
    return ProtocolError(
        f"{guest} {what}",
        expected=expected,
        got="something else",
        cure="find out what runs there: this release does not send that",
    )
