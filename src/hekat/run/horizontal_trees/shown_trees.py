"""What a report shows of trees across rows, whose splits all parties know: columns by gain, and the first trees."""

from __future__ import annotations

from collections.abc import Sequence

from hekat.protocol.horizontal_trees.state import TreesState
from hekat.summary.trees.drawn_facts import Importance, TreeFacts, keep_importances, keep_tree
from hekat.summary.trees.drawn_trees import MOST_DRAWN, ColumnOwner, draw_tree, rank_importances

EVERYBODY = "all parties"
"""Who has a column."""


def show_importance(state: TreesState, names: Sequence[str]) -> tuple[Importance, ...]:
    """The gain and the number of splits of each column that splits a node, the largest gain first; `names` in the order
    of the model's columns."""
    gains, counts = state.ensemble.importances(len(names))
    return keep_importances(rank_importances(_columns_of(state, names), gains, counts))


def show_trees(state: TreesState, names: Sequence[str], classes: Sequence[str] | None) -> tuple[TreeFacts, ...]:
    """The first trees."""
    columns = _columns_of(state, names)
    shown: list[TreeFacts] = []
    for number, iteration in enumerate(state.trees, 1):
        for target, tree in enumerate(iteration):
            if len(shown) == MOST_DRAWN:
                return tuple(shown)
            name = None if len(iteration) == 1 or classes is None else classes[target]
            shown.append(keep_tree(draw_tree(tree, columns, number, name)))
    return tuple(shown)


def _columns_of(state: TreesState, names: Sequence[str]) -> list[ColumnOwner]:
    return [ColumnOwner(EVERYBODY, name, bins) for name, bins in zip(names, state.bins, strict=True)]
