"""Trees in words for a report: which column splits a node, and which rows go left as far as that is known here."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from hekat.first_few import first_few
from hekat.model.trees import ColumnBins, Tree
from hekat.summary.trees.shape import DrawnNode, DrawnTree, ImportanceFacts

MOST_DRAWN = 3
"""So many trees are drawn."""
_MOST_NAMES = 4


@dataclass(frozen=True)
class ColumnOwner:
    """A column as a report knows it: whose it is, what it is called, and its `bins` where they are known here.

    `categories` are the texts that its numbers stand for; empty for a column of numbers.
    """

    owner: str
    name: str
    bins: ColumnBins | None = None
    categories: tuple[str, ...] = ()


def draw_tree(tree: Tree, columns: Sequence[ColumnOwner], iteration: int, target: str | None) -> DrawnTree:
    """`tree` of an iteration, the first is 1; `columns` in the order of the tree's column numbers."""
    nodes = []
    for node in range(tree.node_count):
        number = int(tree.column[node])
        if number < 0:
            nodes.append(_leaf(float(tree.value[node]), int(tree.count[node])))
            continue
        column = columns[number]
        nodes.append(
            DrawnNode(
                owner=column.owner,
                column=column.name,
                test=None if column.bins is None else describe_test(column, tree.left_bins[node]),
                left=int(tree.left[node]),
                right=int(tree.right[node]),
                value=None,
                rows=int(tree.count[node]),
            )
        )
    return DrawnTree(iteration=iteration, target=target, nodes=nodes)


def _leaf(value: float, rows: int) -> DrawnNode:
    return DrawnNode(owner=None, column=None, test=None, left=None, right=None, value=value, rows=rows)


def describe_test(column: ColumnOwner, left: npt.NDArray[np.bool_]) -> str:
    """Which values go left, such as "<= 41.5, or missing"; `left` has an entry for each bin."""
    bins = column.bins
    assert bins is not None  # the caller has checked
    values = left[: bins.missing_bin]
    missing = bool(left[bins.missing_bin])
    if not values.any():
        return "is missing"
    if values.all():
        return "is not missing" if not missing else "any"
    if bins.is_category:
        text = f"is {_name_categories(column, bins, left)}"
    else:
        # An ordered column goes left up to its last bin that does.
        last = int(np.flatnonzero(values)[-1])
        text = f"<= {bins.edges[last]:.6g}"
    return f"{text}, or missing" if missing else text


def _name_categories(column: ColumnOwner, bins: ColumnBins, left: npt.NDArray[np.bool_]) -> str:
    chosen = [float(value) for value, place in zip(bins.edges, bins.category_bins, strict=True) if left[int(place)]]
    known = column.categories
    names = [known[int(value)] if 0 <= value < len(known) else f"{value:g}" for value in chosen]
    return first_few(names, _MOST_NAMES)


def rank_importances(
    columns: Sequence[ColumnOwner], gains: npt.NDArray[np.float64], counts: npt.NDArray[np.int64]
) -> list[ImportanceFacts]:
    """The columns that split some node, the largest gain first."""
    order = np.argsort(-gains, kind="stable")
    return [
        ImportanceFacts(
            owner=columns[number].owner,
            column=columns[number].name,
            gain=float(gains[number]),
            splits=int(counts[number]),
        )
        for number in order.tolist()
        if counts[number]
    ]
