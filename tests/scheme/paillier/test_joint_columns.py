"""Plans of sums by bins: the sums of plain rows, with fewer additions where columns can share, never with more."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from hekat.scheme.paillier import joint_columns
from hekat.scheme.paillier.joint_columns import plan_sums

SEED = 20


def sums_by(plan, values, sum_count):
    cells = np.zeros(plan.cell_count, np.int64)
    np.add.at(cells, plan.cells, values[plan.places])
    sums = np.zeros(sum_count, np.int64)
    np.add.at(sums, plan.sums, cells[plan.parts])
    return sums


def direct_sums(digits, segments, bin_count, values, segment_count):
    sums = np.zeros(segment_count * bin_count, np.int64)
    for column in digits:
        there = np.flatnonzero(column >= 0)
        np.add.at(sums, segments[there] * bin_count + column[there], values[there])
    return sums


def columns_of(sizes, places, rng, absent=0.0):
    offsets = np.cumsum([0, *sizes[:-1]])
    digits = np.stack([rng.integers(0, size, places) + at for size, at in zip(sizes, offsets, strict=True)])
    digits[rng.random(digits.shape) < absent] = -1
    return digits.astype(np.int32)


@pytest.mark.parametrize("sizes", [(3,), (2, 2, 2), (32, 2, 5, 1, 7), (40, 50, 60)])
@pytest.mark.parametrize("absent", [0.0, 0.3, 1.0])
@pytest.mark.parametrize("places", [0, 1, 30, 3000])
def test_plans_give_the_sums(sizes, absent, places):
    rng = np.random.default_rng([SEED, len(sizes), places])
    digits, segments = columns_of(sizes, places, rng, absent), np.sort(rng.integers(0, 3, places))
    values, bin_count = rng.integers(-9, 9, places), sum(sizes)
    plan = plan_sums(digits, segments, bin_count)
    expected = direct_sums(digits, segments, bin_count, values, 3)
    assert_array_equal(sums_by(plan, values, 3 * bin_count), expected)
    # What is left of columns that share nothing is one addition to a row and column, and each sum taken as it is.
    assert plan.places.size <= (digits >= 0).sum()
    assert plan.addition_count <= (digits >= 0).sum() + 3 * bin_count + plan.cell_count


def test_columns_of_few_bins_share():
    rng = np.random.default_rng(SEED)
    digits, segments = columns_of((2, 3, 2, 4, 32, 32), 30_000, rng), np.zeros(30_000, np.int64)
    plan = plan_sums(digits, segments, 75)
    # Five columns have 1,536 cells in all; with the sixth, nearly every row would have its own.
    assert plan.places.size == 2 * 30_000
    assert plan.cell_count == 2 * 3 * 2 * 4 * 32 + 32
    assert plan.addition_count < 0.4 * digits.size


def test_columns_with_a_cell_for_nearly_every_row_share_nothing():
    rng = np.random.default_rng(SEED)
    digits, segments = columns_of((32, 32), 500, rng), np.zeros(500, np.int64)
    plan = plan_sums(digits, segments, 64)
    assert plan.places.size == digits.size


def test_columns_whose_cells_are_too_many_to_count_share_nothing(monkeypatch):
    monkeypatch.setattr(joint_columns, "MOST_POSSIBLE_CELLS", 3)
    rng = np.random.default_rng(SEED)
    digits, segments = columns_of((2, 2, 2), 900, rng), np.zeros(900, np.int64)
    plan = plan_sums(digits, segments, 6)
    assert plan.places.size == digits.size
    assert_array_equal(sums_by(plan, np.ones(900), 6), direct_sums(digits, segments, 6, np.ones(900, int), 1))
