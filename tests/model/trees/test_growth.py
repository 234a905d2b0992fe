"""Grown trees against a second implementation, row by row, node by node; and over several holders of columns."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from tests.model.trees.made_tables import CATEGORY_COLUMN, make_rows, make_scores

from hekat.model.trees import (
    AskedNode,
    BinSums,
    LocalColumns,
    PlainSource,
    Split,
    Tree,
    TreeTraining,
    bin_table,
    boost,
    concatenate_columns,
    make_objective,
    round_gradients,
    rounding_generator,
    train_plain,
)
from hekat.model.trees.binned_table import BinnedTable

SEED = 20


def _data(class_count: int, row_count: int = 600) -> tuple[BinnedTable, np.ndarray]:
    X = make_rows(row_count, SEED)
    scores = make_scores(X)
    table = bin_table(X, 12, {CATEGORY_COLUMN})
    if class_count == 0:
        return table, scores
    return table, np.digitize(scores, np.quantile(scores, np.arange(1, class_count) / class_count)).astype(np.int64)


class _SlowTree:
    """One tree by the book: every node looks at all its rows, every split at every mask, in Python."""

    def __init__(self, table: BinnedTable, levels, tree: int, exact: tuple, training: TreeTraining) -> None:
        self.table, self.training, self.exact = table, training, exact
        self.g, self.h = levels.gradients[tree], levels.hessians[tree]
        self.scales = levels.gradient_scales[tree], levels.hessian_scales[tree]
        self.nodes: list[tuple] = []
        level = [np.arange(table.row_count)]
        for depth in range(training.max_depth + 1):
            following = []
            for rows in level:
                found = self._best(rows) if depth < training.max_depth else None
                if found is None:
                    first, second = exact[0][rows].sum(), exact[1][rows].sum() + training.l2_regularization
                    self.nodes.append((-1, -training.learning_rate * first / second, len(rows)))
                    continue
                column, goes_left = found
                self.nodes.append((column, 0.0, len(rows)))
                following += [rows[goes_left], rows[~goes_left]]
            level = following

    def _best(self, rows: np.ndarray):
        best_gain, best = self.training.min_gain, None
        for c, bins in enumerate(self.table.bins):
            digits = self.table.digits[c, rows]
            values = list(range(bins.value_bin_count))
            if bins.is_category:
                values.append(bins.missing_bin)
                l2 = self.training.l2_regularization
                means = [
                    self.g[rows[digits == v]].sum()
                    * self.scales[0]
                    / (self.h[rows[digits == v]].sum() * self.scales[1] + (l2 + 10.0))
                    for v in values
                ]
                values = [values[i] for i in np.argsort(means, kind="stable")]
            for missing_left in (False, True) if not bins.is_category else (False,):
                for cut in range(1, len(values) + 1):
                    goes_left = np.isin(digits, values[:cut]) | (missing_left & (digits == bins.missing_bin))
                    gain = self._gain(rows, goes_left)
                    if gain is not None and gain > best_gain:
                        best_gain, best = gain, (c, goes_left)
        return best

    def _gain(self, rows: np.ndarray, goes_left: np.ndarray) -> float | None:
        sides = [rows[goes_left], rows[~goes_left]]
        if min(map(len, sides)) < self.training.min_samples_leaf:
            return None
        worth = []
        for side in (*sides, rows):
            g, h = self.g[side].sum() * self.scales[0], self.h[side].sum() * self.scales[1]
            if h < self.training.min_child_weight:
                return None
            worth.append(g * g / (h + self.training.l2_regularization))
        return (worth[0] + worth[1]) - worth[2]


def _described(tree: Tree) -> list[tuple]:
    return [(int(c), float(v), int(n)) for c, v, n in zip(tree.column, tree.value, tree.count, strict=True)]


@pytest.mark.quick_values
@pytest.mark.parametrize("class_count", [0, 2, 3])
@pytest.mark.parametrize(
    "training",
    [
        TreeTraining(max_iter=2, max_depth=4, rounding="nearest", gradient_bits=30),
        TreeTraining(max_iter=2, max_depth=5, min_samples_leaf=5, l2_regularization=1.0, min_gain=0.01),
        TreeTraining(max_iter=1, max_depth=1),
    ],
)
def test_trees_equal_those_of_a_slow_implementation(class_count: int, training: TreeTraining) -> None:
    table, y = _data(class_count)
    objective = make_objective(class_count)
    run = train_plain(table, y, objective, training)
    scores = np.repeat(run.ensemble.start_scores[:, None], len(y), axis=1)
    for iteration, trees in enumerate(run.ensemble.trees):
        first, second = objective.gradients(scores, y)
        levels = round_gradients(
            first,
            second,
            training.gradient_bits,
            rounding_generator(training, iteration),
            has_constant_hessian=objective.has_constant_hessian,
        )
        for k, tree in enumerate(trees):
            slow = _SlowTree(table, levels, k, (first[k], second[k]), training)
            assert tree.leaf_count > 1
            assert [(c, n) for c, _, n in _described(tree)] == [(c, n) for c, _, n in slow.nodes]
            assert np.allclose(tree.value, [value for _, value, _ in slow.nodes], rtol=1e-9, atol=1e-12)
            scores[k] += tree.value[tree.leaf_of_digits(table.digits)]
    assert np.array_equal(scores, run.ensemble.raw_scores(table))


class _ColumnsApart(PlainSource):
    """The same rows with the columns at three parties, whose sums are put side by side."""

    def __init__(self, table: BinnedTable, y, objective, training, joined) -> None:
        super().__init__(table, y, objective, training, joined)
        self._parties = []
        for start, end in ((0, 2), (2, 3), (3, 5)):
            part = BinnedTable(table.bins[start:end], table.digits[start:end])
            least = np.where(joined[start:end], training.min_samples_leaf, 0)
            self._parties.append(LocalColumns(part, least, first_column=start))

    def begin_iteration(self, iteration: int) -> None:
        super().begin_iteration(iteration)
        for party in self._parties:
            party.start(self._train_rows, self._objective.tree_count)

    def sum_bins(self, asked: Sequence[AskedNode]) -> BinSums:
        return concatenate_columns([party.sum_bins(asked, self._now) for party in self._parties])

    def split_nodes(self, splits: Sequence[Split]) -> Sequence[np.ndarray]:
        found = []
        for split in splits:
            owner = next(party for party in self._parties if party.owns(split.column))
            found.append(owner.left_bins(split))
            goes_left = owner.goes_left(split)
            for party in (*self._parties, self._columns):
                party.divide(split, goes_left)
        return found


@pytest.mark.quick_values
@pytest.mark.parametrize("class_count", [0, 2, 3])
@pytest.mark.parametrize("is_joined", [False, True])
def test_columns_at_several_parties_grow_the_same_trees(class_count: int, is_joined: bool) -> None:
    table, y = _data(class_count, 1_500)
    objective, training = make_objective(class_count), TreeTraining(max_iter=4, max_leaf_nodes=20)
    joined = np.array([False, False, is_joined, is_joined, is_joined])
    together = train_plain(table, y, objective, training, joined=joined).ensemble
    apart = boost(_ColumnsApart(table, y, objective, training, joined), training, objective.tree_count)
    for expected, grown in zip(together.trees, apart.trees, strict=True):
        for one, other in zip(expected, grown, strict=True):
            for name in ("column", "left", "right", "value", "gain", "count", "left_bins"):
                assert np.array_equal(getattr(one, name), getattr(other, name))


@pytest.mark.parametrize("row_count", [60, 300, 1_000])
def test_joined_trees_grow_until_no_column_keeps_two_bins(row_count: int) -> None:
    table, y = _data(0, row_count)
    run = train_plain(table, y, make_objective(0), TreeTraining(max_iter=20, max_depth=10), joined=np.ones(5, bool))
    digits = table.digits
    for (tree,) in run.ensemble.trees:
        assert np.array_equal(np.bincount(tree.leaf_of_digits(digits))[tree.column < 0], tree.count[tree.column < 0])


@pytest.mark.parametrize(("is_joined", "max_depth", "is_held"), [(False, 3, False), (True, 3, True), (True, 1, False)])
def test_children_that_may_be_split_keep_a_part_of_the_rows_where_bins_are_joined(
    is_joined: bool, max_depth: int, is_held: bool
) -> None:
    X = np.random.default_rng(SEED).normal(size=(4_000, 2))
    # About 60 rows far from the others: by gain alone they are split off first. At the last level nothing is asked of
    # the children.
    y = 50.0 * (X[:, 0] > 2.2) + X[:, 1]
    training = TreeTraining(max_iter=1, max_depth=max_depth)
    joined = np.array([False, is_joined])
    (tree,) = train_plain(bin_table(X, 64), y, make_objective(0), training, joined=joined).ensemble.trees[0]
    smaller = tree.count[[tree.left[0], tree.right[0]]].min()
    assert smaller >= 4_000 // 32 if is_held else smaller < 4_000 // 50


@pytest.mark.parametrize("max_leaf_nodes", [2, 3, 5, 6, 7, 9])
def test_leaves_are_limited_to_those_of_most_gain(max_leaf_nodes: int) -> None:
    table, y = _data(3)
    limited = TreeTraining(max_iter=1, max_leaf_nodes=max_leaf_nodes)
    few = train_plain(table, y, make_objective(3), limited).ensemble.trees[0][0]
    many = train_plain(table, y, make_objective(3), TreeTraining(max_iter=1)).ensemble.trees[0][0]
    assert few.leaf_count == max_leaf_nodes
    assert few.gain[0] == many.gain[0]
    # Below the root, and below both children: the best of the level as far as there is room.
    level = [1, 2] if max_leaf_nodes < 4 else [n for parent in (1, 2) for n in (many.left[parent], many.right[parent])]
    room = max_leaf_nodes - len(level)
    if 0 < room < len(level):
        found = few.gain[min(level) :]
        assert sorted(found[found > 0]) == sorted(many.gain[level])[-room:]


def test_every_leaf_keeps_its_rows() -> None:
    table, y = _data(2)
    tree = train_plain(table, y, make_objective(2), TreeTraining(max_iter=1, min_samples_leaf=37)).ensemble.trees[0][0]
    assert tree.count[tree.column < 0].min() >= 37
    assert np.array_equal(
        np.bincount(tree.leaf_of_digits(table.digits), minlength=tree.node_count)[tree.column < 0],
        tree.count[tree.column < 0],
    )


def test_rows_take_the_same_way_by_answers_and_by_bins() -> None:
    table, y = _data(0)
    tree = train_plain(table, y, make_objective(0), TreeTraining(max_iter=1)).ensemble.trees[0][0]

    def goes_left(nodes: np.ndarray, rows: np.ndarray) -> np.ndarray:
        return tree.left_bins[nodes, table.digits[tree.column[nodes], rows]]

    nodes, rows = np.zeros(table.row_count, np.int32), np.arange(table.row_count)
    while len(rows := rows[tree.column[nodes[rows]] >= 0]):
        at = nodes[rows]
        nodes[rows] = np.where(goes_left(at, rows), tree.left[at], tree.right[at])
    assert np.array_equal(nodes, tree.leaf_of_digits(table.digits))


def test_values_that_training_never_saw_go_to_the_larger_child() -> None:
    X = np.concatenate([np.zeros(60), np.ones(30)])[:, None]
    table = bin_table(X, 8)
    for y, is_left_larger in ((X[:, 0], True), (X[::-1, 0], True)):
        tree = train_plain(table, y, make_objective(0), TreeTraining(max_iter=1)).ensemble.trees[0][0]
        assert (tree.count[1] > tree.count[2]) == is_left_larger
        assert bool(tree.left_bins[0, table.bins[0].missing_bin]) == is_left_larger


def test_a_column_that_is_constant_or_missing_everywhere_is_never_split() -> None:
    _, y = _data(0)
    X = np.column_stack([np.full(len(y), 3.0), np.full(len(y), np.nan), make_rows(len(y), SEED)[:, 0]])
    run = train_plain(bin_table(X, 16), y, make_objective(0), TreeTraining(max_iter=3))
    gains, counts = run.ensemble.importances(3)
    assert counts[0] == counts[1] == 0
    assert counts[2] > 0
    assert gains[2] == pytest.approx(sum(tree.gain.sum() for (tree,) in run.ensemble.trees))
