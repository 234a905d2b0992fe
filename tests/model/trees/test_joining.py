"""Joined bins: none tells of fewer than k rows of a node or of its sibling, and no more is joined than that takes."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from tests.model.trees.made_tables import CATEGORY_COLUMN, make_rows

from hekat.model.trees import (
    AskedNode,
    GradientLevels,
    JoinedBins,
    LocalColumns,
    NodeId,
    Split,
    bin_table,
    join_root_bins,
    join_small_bins,
)

SEED = 20


def _join_root(counts: list[int], k: int, *, is_category: bool = False) -> JoinedBins:
    array = np.array(counts, np.int64)[None, None]
    return join_root_bins(array, np.array([len(counts)]), np.array([is_category]), np.array([k]))


def test_neighbours_are_joined_from_the_lowest_up() -> None:
    joined = _join_root([3, 7, 2, 5, 12, 1, 0, 40], k=10)
    assert joined.groups[0, 0].tolist() == [0, 0, 1, 1, 1, 1, 1, 2]
    assert joined.bin_counts.tolist() == [[3]]
    assert joined.missing_last.tolist() == [[True]]


def test_the_rest_and_few_missing_values_go_with_the_largest_values() -> None:
    joined = _join_root([10, 10, 3, 4], k=10)
    assert joined.groups[0, 0].tolist() == [0, 1, 1, 1]
    assert joined.missing_last.tolist() == [[False]]


def test_small_categories_are_joined_with_small_ones() -> None:
    joined = _join_root([30, 2, 11, 3, 6, 0], k=10, is_category=True)
    # Ordered by rows: 30, 11, then 6 + 3 + 2.
    assert joined.groups[0, 0].tolist() == [0, 2, 1, 2, 2, 2]
    assert joined.bin_counts.tolist() == [[3]]


@pytest.mark.parametrize("counts", [[19, 0, 0], [10, 9, 0], [40, 0, 9], [0, 0, 0]])
def test_a_column_that_cannot_keep_two_bins_has_none(counts: list[int]) -> None:
    joined = _join_root(counts, k=10)
    assert joined.bin_counts.tolist() == [[0]]
    assert joined.missing_last.tolist() == [[False]]


def test_nothing_is_joined_without_a_limit() -> None:
    joined = _join_root([0, 3, 0, 1], k=0)
    assert joined.groups[0, 0].tolist() == [0, 1, 2, 3]
    assert joined.bin_counts.tolist() == [[4]]


def test_a_bin_needs_rows_of_both_children() -> None:
    parent = _join_root([10, 10, 10, 10, 10, 0], k=10)
    node, sibling = np.array([[[10, 5, 5, 0, 5, 0]]]), np.array([[[0, 5, 5, 10, 5, 0]]])
    arguments = (parent, parent.groups, node, sibling, np.zeros((1, 1), bool), np.zeros(1, bool))
    assert join_small_bins(*arguments, np.array([5])).groups[0, 0].tolist() == [0, 0, 1, 2, 2, 2]
    assert join_small_bins(*arguments, np.array([6])).bin_counts.tolist() == [[0]]


def test_the_column_that_divided_the_parent_stays_as_it_is() -> None:
    parent = _join_root([10, 20, 30, 0], k=10)
    node, sibling = np.array([[[10, 20, 0, 0]]]), np.array([[[0, 0, 30, 0]]])
    columns = np.ones((1, 1), bool), np.zeros(1, bool)
    joined = join_small_bins(parent, parent.groups, node, sibling, *columns, np.array([10]))
    assert joined.groups[0, 0].tolist() == parent.groups[0, 0].tolist()
    assert joined.bin_counts.tolist() == [[3]]


def test_a_single_row_does_not_show_where_joined_bins_of_a_child_are_subtracted_from_bins_of_its_parent() -> None:
    # Both children have 20 rows and more of the first two bins together. Yet these rows in the node, less bin 1 in the
    # parent, which lies in the node, would be the one row of bin 0.
    parent = _join_root([21, 20, 60, 0], k=20)
    node, sibling = np.array([[[1, 20, 30, 0]]]), np.array([[[20, 0, 30, 0]]])
    arguments = (parent, parent.groups, node, sibling, np.zeros((1, 1), bool), np.zeros(1, bool))
    assert join_small_bins(*arguments, np.array([20])).bin_counts.tolist() == [[0]]
    assert join_small_bins(*arguments, np.array([1])).groups[0, 0].tolist() == [0, 1, 1, 1]


def test_nor_where_they_are_subtracted_from_bins_of_a_node_further_up() -> None:
    root = _join_root([20, 41, 90, 0], k=20)
    columns = np.zeros((1, 1), bool), np.zeros(1, bool), np.array([20])
    child, other = np.array([[[20, 21, 60, 0]]]), np.array([[[0, 20, 30, 0]]])
    joined = join_small_bins(root, root.groups, child, other, *columns)
    assert joined.groups[0, 0].tolist() == [0, 0, 1, 1]
    # The first joined bin has 21 rows in one grandchild and 20 in the other; less bin 0 of the root, one is left.
    grandchild, its_sibling = np.array([[[20, 1, 30, 0]]]), np.array([[[0, 20, 30, 0]]])
    assert join_small_bins(joined, root.groups, grandchild, its_sibling, *columns).bin_counts.tolist() == [[0]]


class _Grown:
    """Random trees over hosts' columns, with every sum that growth would ask for."""

    def __init__(self, k: int, seed: int, row_count: int = 900, bins: int = 16) -> None:
        self.rng = np.random.default_rng([SEED, seed])
        self.table = bin_table(make_rows(row_count, seed), bins, {CATEGORY_COLUMN})
        self.columns = LocalColumns(self.table, np.full(5, k))
        self.columns.start(np.arange(row_count), 1)
        ones = np.ones((1, row_count), np.int64)
        self.levels = GradientLevels(4, ones, ones, np.ones(1), np.ones(1))
        self.opened: list[tuple[int, np.ndarray]] = []
        """(column, rows of a bin that the guest has a sum of)."""
        self._ask([AskedNode(NodeId(0, 0))])
        frontier = [NodeId(0, 0)]
        self.next_node = 1
        for _ in range(4):
            frontier = [child for node in frontier for child in self._divide(node)]

    def _divide(self, node: NodeId) -> list[NodeId]:
        joined = self.columns._bins[node].joined
        usable = np.flatnonzero(joined.bin_counts > 1)
        if not len(usable):
            return []
        column = int(self.rng.choice(usable))
        left = np.arange(joined.bin_counts[column]) <= self.rng.integers(0, joined.bin_counts[column] - 1)
        children = NodeId(0, self.next_node), NodeId(0, self.next_node + 1)
        self.next_node += 2
        split = Split(node, *children, column, left, 1.0, 1, 1)
        self.columns.divide(split, self.columns.goes_left(split))
        sizes = [len(self.columns.rows_of(child)) for child in children]
        if min(sizes) == 0:
            return []
        first, second = children if sizes[0] <= sizes[1] else children[::-1]
        self._ask([AskedNode(first, node, second, column)])
        return list(children)

    def _ask(self, asked: list[AskedNode]) -> None:
        self.columns.sum_bins(asked, self.levels)
        for one in asked:
            for node in (one.node, one.sibling):
                if node is not None:
                    self._open(node, one.column)

    def _open(self, node: NodeId, splitting: int) -> None:
        """What the guest has of a node: its bins, those of a sibling by subtraction."""
        joined = self.columns._bins[node].joined
        rows = self.columns.rows_of(node)
        for c in range(self.table.column_count):
            if joined.bin_counts[c] and c != splitting:
                groups = joined.groups[c][self.table.digits[c, rows]]
                self.opened += [(c, rows[groups == j]) for j in range(joined.bin_counts[c])]


@pytest.mark.parametrize("seed", range(12))
def test_no_bin_of_a_node_or_its_sibling_tells_of_fewer_than_k_rows(seed: int) -> None:
    grown = _Grown(k=20, seed=seed)
    sizes = np.array([len(rows) for _, rows in grown.opened])
    assert len(sizes) > 100
    # No rows at all: the bins lie in the other child of an earlier split of the same column, as its mask says.
    assert ((sizes >= 20) | (sizes == 0)).all()


def test_without_joining_differences_tell_of_single_rows() -> None:
    grown = _Grown(k=0, seed=0)
    assert min(len(rows) for _, rows in grown.opened if len(rows)) == 1


def _isolate(opened: list[np.ndarray], row_count: int, most: int) -> set[int]:
    """The rows of a smallest set, of `most` rows at most, that some sum of `opened` sets, times any numbers, is of."""
    sets = np.zeros((len(opened), row_count))
    for place, rows in enumerate(opened):
        sets[place, rows] = 1
    # Rows that are in the same sets are told apart by no sum: one column stands for them.
    cells, sizes = np.unique(sets, axis=1, return_counts=True)
    cells, sizes = cells[:, cells.any(axis=0)], sizes[cells.any(axis=0)]
    full = np.linalg.matrix_rank(cells)
    for count in range(1, most + 1):
        for few in combinations(np.flatnonzero(sizes <= most).tolist(), count):
            if sizes[list(few)].sum() <= most and np.linalg.matrix_rank(np.delete(cells, few, axis=1)) < full:
                return set(few)
    return set()


@pytest.mark.parametrize("seed", range(8))
def test_no_sum_of_opened_sums_of_a_column_is_of_fewer_than_k_rows(seed: int) -> None:
    grown = _Grown(k=3, seed=seed, row_count=60, bins=6)
    for column in range(5):
        opened = [rows for of, rows in grown.opened if of == column and len(rows)]
        assert not _isolate(opened, 60, most=2)


def test_where_a_bin_has_k_rows_in_both_children_alone_a_sum_of_opened_sums_is_of_one_row() -> None:
    node, sibling = [0, 1, 2, 3], [4, 5, 6, 7, 8]
    bins = [[0, 4, 5, 6, 7, 8], [1, 2, 3]]
    assert _isolate([*map(np.array, (*bins, node, sibling))], 9, most=2)
