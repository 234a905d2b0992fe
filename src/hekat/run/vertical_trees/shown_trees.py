"""What a guest's report shows of its trees: which columns matter, and the first trees, with hosts' tests hidden."""

from __future__ import annotations

import numpy as np

from hekat.data import ColumnSpecs
from hekat.protocol.vertical_trees.model_part import TreesPart
from hekat.protocol.vertical_trees.tree_arrays import read_trees
from hekat.summary.trees.drawn_facts import Importance, TreeFacts, keep_importances, keep_tree
from hekat.summary.trees.drawn_trees import MOST_DRAWN, ColumnOwner, draw_tree, rank_importances


def columns_of_guest(part: TreesPart, specs: ColumnSpecs) -> list[ColumnOwner]:
    """Every column in the order of the trees' column numbers: the guest's with its bins, hosts' by number from 1."""
    known = []
    for name, bins in zip(part.columns, part.bins, strict=True):
        spec = specs.find(name)
        categories = spec.buckets if spec is not None and bins.is_category else ()
        known.append(ColumnOwner(part.guest, name, bins, categories))
    for host in part.hosts:
        known += [ColumnOwner(host, f"column {number + 1}") for number in range(part.host_columns[host])]
    return known


def show_importance(part: TreesPart, specs: ColumnSpecs) -> tuple[Importance, ...]:
    """The gains and the number of splits of each column that splits a node, by owner; the largest gain first."""
    columns = columns_of_guest(part, specs)
    gains, counts = np.zeros(len(columns)), np.zeros(len(columns), np.int64)
    for iteration in read_trees(part.arrays):
        for owned in iteration:
            inner = owned.tree.column >= 0
            np.add.at(gains, owned.tree.column[inner], owned.tree.gain[inner])
            np.add.at(counts, owned.tree.column[inner], 1)
    return keep_importances(rank_importances(columns, gains, counts))


def show_trees(part: TreesPart, specs: ColumnSpecs) -> tuple[TreeFacts, ...]:
    """The first trees of a guest's part."""
    columns = columns_of_guest(part, specs)
    shown: list[TreeFacts] = []
    for number, iteration in enumerate(read_trees(part.arrays), 1):
        for target, owned in enumerate(iteration):
            if len(shown) == MOST_DRAWN:
                return tuple(shown)
            name = None if part.target_count == 1 or part.classes is None else part.classes[target]
            shown.append(keep_tree(draw_tree(owned.tree, columns, number, name)))
    return tuple(shown)
