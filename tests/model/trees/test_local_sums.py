"""Histograms of own rows equal sums in Python integers, whatever the bits, the nodes and the blocks."""

from __future__ import annotations

import numpy as np
import pytest

from hekat.model.trees import GradientLevels, count_bins, sum_bins

SEED = 20


def _levels(bits: int, row_count: int, tree_count: int, rng: np.random.Generator) -> GradientLevels:
    most = 2 ** (bits - 1)
    gradients = rng.choice([-most, most, 0, 1, -1], size=(tree_count, row_count))
    hessians = rng.choice([0, 1, 2 * most], size=(tree_count, row_count))
    return GradientLevels(bits, gradients, hessians, np.ones(tree_count), np.ones(tree_count))


def _expected(digits, node_rows, node_trees, levels, width) -> np.ndarray:
    out = np.zeros((3, len(node_rows), len(digits), width), np.int64)
    for n, (rows, tree) in enumerate(zip(node_rows, node_trees, strict=True)):
        for c, column in enumerate(digits):
            np.add.at(out[0, n, c], column[rows], 1)
            np.add.at(out[1, n, c], column[rows], levels.gradients[tree, rows])
            np.add.at(out[2, n, c], column[rows], levels.hessians[tree, rows])
    return out


@pytest.mark.quick_values
@pytest.mark.parametrize("bits", [2, 4, 6, 8, 9, 16, 24, 32])
@pytest.mark.parametrize("width", [2, 33, 256])
def test_sums_are_exact(bits: int, width: int) -> None:
    rng = np.random.default_rng([SEED, bits, width])
    row_count = 9_000
    digits = rng.integers(0, width, size=(3, row_count)).astype(np.uint8)
    levels = _levels(bits, row_count, 2, rng)
    parts = np.split(rng.permutation(row_count), [10, 10, 4_000, 7_000])
    node_rows = [np.sort(part) for part in parts] + [np.arange(row_count)]
    node_trees = [0, 1, 1, 0, 1, 1]
    sums = sum_bins(digits, node_rows, node_trees, levels, width)
    assert np.array_equal(sums, _expected(digits, node_rows, node_trees, levels, width))
    assert np.array_equal(count_bins(digits, node_rows, width), sums[0])


@pytest.mark.parametrize("bits", [2, 4, 7])
def test_blocks_of_largest_levels_do_not_spill_into_each_other(bits: int) -> None:
    row_count = 140_000
    digits = np.zeros((1, row_count), np.uint8)
    ones = np.ones((1, row_count), np.int64)
    for sign in (-1, 1):
        levels = GradientLevels(bits, sign * 2 ** (bits - 1) * ones, 2**bits * ones, np.ones(1), np.ones(1))
        sums = sum_bins(digits, [np.arange(row_count)], [0], levels, 2)
        assert sums[:, 0, 0].tolist() == [
            [row_count, 0],
            [sign * row_count * 2 ** (bits - 1), 0],
            [row_count * 2**bits, 0],
        ]


def test_no_rows_have_no_sums() -> None:
    levels = _levels(4, 5, 1, np.random.default_rng(SEED))
    digits = np.zeros((2, 5), np.uint8)
    assert not sum_bins(digits, [np.zeros(0, np.int64)], [0], levels, 4).any()
    assert sum_bins(digits, [], [], levels, 4).shape == (3, 0, 2, 4)
