"""The best split against a search of every split one by one."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from hekat.model.trees import (
    BinSums,
    TreeTraining,
    concatenate_columns,
    concatenate_nodes,
    find_best_splits,
    subtract_from_parent,
)

SEED = 20


def _sums(seed: int, nodes: int = 4, columns: int = 5, width: int = 9) -> BinSums:
    rng = np.random.default_rng([SEED, seed])
    bin_counts = rng.integers(0, width + 1, size=(nodes, columns))
    bin_counts[bin_counts == 1] = 0
    # Each column divides the same rows of the node: 300 rows, dealt to bins.
    sums = np.zeros((3, nodes, columns, width), np.int64)
    totals = np.zeros((3, nodes), np.int64)
    for n in range(nodes):
        levels = np.stack([np.ones(300, int), rng.integers(-8, 9, 300), rng.integers(0, 17, 300)])
        totals[:, n] = levels.sum(axis=1)
        for c in range(columns):
            if bin_counts[n, c]:
                bins = rng.integers(0, bin_counts[n, c], 300)
                for i in range(3):
                    np.add.at(sums[i, n, c], bins, levels[i])
    missing_last = (rng.random((nodes, columns)) < 0.5) & (bin_counts > 1)
    return BinSums(totals, sums, bin_counts, missing_last, np.zeros((nodes, columns, width), np.uint8))


def _gain(left, totals, scales, l2) -> float:
    def worth(g, h) -> float:
        return (g * scales[0]) * (g * scales[0]) / (h * scales[1] + l2)

    right = totals - left
    return (worth(*left[1:]) + worth(*right[1:])) - worth(*totals[1:])


def _candidates(sums: BinSums, n: int, c: int, is_category: bool, scales, l2):
    """(mask over joined bins) of every split of a column in the order that ties are broken."""
    count = int(sums.bin_counts[n, c])
    of_column = sums.sums[:, n, c, :count]
    order = list(range(count))
    if is_category:
        keys = of_column[1] * scales[0] / (of_column[2] * scales[1] + (l2 + 10.0))
        order.sort(key=keys.__getitem__)
    has_missing = bool(sums.missing_last[n, c])
    for missing_left, prefix in product((False, True), range(count - 1)):
        if missing_left and (not has_missing or prefix >= count - 2):
            continue
        mask = np.zeros(count, bool)
        mask[order[: prefix + 1]] = True
        mask[-1] |= missing_left
        yield mask


@pytest.mark.quick_values
@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize(
    "training",
    [
        TreeTraining(min_samples_leaf=1, min_child_weight=0.0),
        TreeTraining(min_samples_leaf=60, l2_regularization=3.0),
        TreeTraining(min_child_weight=10.0, min_gain=0.5),
    ],
)
def test_the_best_split_is_the_best_of_all(seed: int, training: TreeTraining) -> None:
    sums = _sums(seed)
    is_category = np.array([False, True, False, False, True])
    sums.missing_last[:, is_category] = False
    scales = (np.full(4, 0.125), np.full(4, 0.0156))
    best = find_best_splits(sums, is_category, *scales, training)
    l2 = training.l2_regularization
    for n in range(4):
        expected = (-np.inf, 0, None)
        for c in range(5):
            for mask in _candidates(sums, n, c, is_category[c], (0.125, 0.0156), l2):
                left = sums.sums[:, n, c, : len(mask)][:, mask].sum(axis=1)
                right = sums.totals[:, n] - left
                if min(left[0], right[0]) < training.min_samples_leaf:
                    continue
                if min(left[2], right[2]) * 0.0156 < training.min_child_weight:
                    continue
                gain = _gain(left, sums.totals[:, n], (0.125, 0.0156), l2)
                if gain > max(expected[0], training.min_gain):
                    expected = (gain, c, mask)
        assert best.gains[n] == expected[0]
        if expected[2] is not None:
            assert best.columns[n] == expected[1]
            assert best.left[n, : len(expected[2])].tolist() == expected[2].tolist()
            left = sums.sums[:, n, expected[1], : len(expected[2])][:, expected[2]].sum(axis=1)
            assert best.left_totals[:, n].tolist() == left.tolist()


def test_equal_gains_go_to_the_first_column() -> None:
    one = _sums(1, nodes=2, columns=1)
    twice = concatenate_columns([one, one, one])
    best = find_best_splits(twice, np.zeros(3, bool), np.ones(2), np.ones(2), TreeTraining())
    assert best.columns.tolist() == [0, 0]


def test_each_node_has_its_own_least_of_rows() -> None:
    sums = _sums(5)
    arguments = (sums, np.zeros(5, bool), np.ones(4), np.ones(4), TreeTraining(min_samples_leaf=1))
    free = find_best_splits(*arguments)
    held = find_best_splits(*arguments, np.array([1, 120, 151, 1]))
    assert np.array_equal(held.gains[[0, 3]], free.gains[[0, 3]])
    assert min(held.left_totals[0, 1], 300 - held.left_totals[0, 1]) >= 120
    assert held.gains[2] == -np.inf


def test_columns_without_bins_are_not_split() -> None:
    sums = _sums(2)
    sums.bin_counts[:] = 0
    best = find_best_splits(sums, np.zeros(5, bool), np.ones(4), np.ones(4), TreeTraining())
    assert (best.gains == -np.inf).all()


def test_parties_and_nodes_in_pieces_give_the_same() -> None:
    whole = _sums(3)
    parts = [
        BinSums(whole.totals, whole.sums[:, :, c, :7], whole.bin_counts[:, c], whole.missing_last[:, c], none[:, c])
        if (none := whole.from_parent) is not None and whole.bin_counts[:, c].max() <= 7
        else BinSums(whole.totals, whole.sums[:, :, c], whole.bin_counts[:, c], whole.missing_last[:, c], none[:, c])
        for c in (slice(0, 2), slice(2, 5))
    ]
    together = concatenate_columns(parts)
    assert np.array_equal(together.sums, whole.sums)
    assert np.array_equal(concatenate_nodes([whole.take([0]), whole.take([1, 2, 3])]).sums, whole.sums)


def test_a_sibling_is_what_the_parent_leaves() -> None:
    rng = np.random.default_rng(SEED)
    parent = _sums(4)
    groups = np.minimum(np.arange(9) // 2, 3).astype(np.uint8) * np.ones((4, 5, 1), np.uint8)
    both = np.zeros((3, 4, 5, 4), np.int64)
    for b in range(9):
        both[..., min(b // 2, 3)] += parent.sums[..., b]
    child_sums = (both * rng.random(both.shape)).astype(np.int64)
    child = BinSums(parent.totals // 3, child_sums, np.full((4, 5), 4), np.zeros((4, 5), bool), groups)
    sibling = subtract_from_parent(parent, child)
    assert np.array_equal(sibling.sums + child.sums, both)
    assert np.array_equal(sibling.totals + child.totals, parent.totals)


def test_a_rare_category_does_not_lie_at_the_end_of_the_order_for_its_mean_alone() -> None:
    """The first category has the lowest mean, -100, by one row in a thousand; smoothed, it comes after the second."""
    levels = np.array([[20, 20, 400], [-10, -20, 30], [1, 100, 10_000]])
    sums = BinSums(
        levels.sum(axis=1, keepdims=True),
        levels[:, np.newaxis, np.newaxis],
        np.array([[3]]),
        np.array([[False]]),
        np.zeros((1, 1, 3), np.uint8),
    )
    found = find_best_splits(sums, np.array([True]), np.ones(1), np.full(1, 0.1), TreeTraining(min_samples_leaf=20))
    assert found.left.tolist() == [[True, True, False]]
