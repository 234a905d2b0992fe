"""Cells far from all others of their column, and columns of one value."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from hekat.data import Table
from hekat.data.far_cells import find_far_cells, notes_on_cells


def table_of(*columns) -> Table:
    return Table(np.column_stack(columns), None, tuple("abcdefgh"[: len(columns)]))


def test_a_cell_far_from_all_others_is_named_by_column_and_row() -> None:
    rng = np.random.default_rng(1)
    good, dose = rng.normal(size=500), rng.normal(7, 2, size=500)
    dose[16] = -1e12
    (note,) = notes_on_cells(table_of(good, dose))
    assert note == "column 'b': row 17 lies 100 times as far from the middle as all others: look at that cell"


def test_several_cells_of_different_size_are_found_together() -> None:
    rng = np.random.default_rng(2)
    column = rng.normal(size=1000)
    column[[3, 70, 71, 400]] = [1e6, 1e12, -1e8, 1e6]
    (found,) = find_far_cells(table_of(column))
    assert (found.rows, found.count) == ((4, 71, 72), 4)
    assert "rows 4, 71, 72 and 1 more lie" in found.describe()


@pytest.mark.parametrize(
    "draw",
    [
        lambda rng: rng.normal(size=20_000),
        lambda rng: rng.lognormal(8, 2, 20_000),  # incomes, claims
        lambda rng: rng.pareto(1.2, 20_000),
        lambda rng: (rng.random(20_000) < 0.001).astype(float),  # a rare category
        lambda rng: rng.poisson(0.05, 20_000).astype(float),
        lambda rng: np.where(rng.random(20_000) < 0.3, 1e6, rng.normal(size=20_000)),  # a part of the column
        lambda rng: np.ones(20_000),
    ],
)
def test_columns_as_they_are_have_none(draw) -> None:
    assert find_far_cells(table_of(draw(np.random.default_rng(3)))) == ()


def test_a_few_rows_and_sparse_ones_are_not_judged() -> None:
    assert find_far_cells(table_of(np.array([1.0, 2.0, 1e12]))) == ()
    features = np.eye(20) * 1e9
    assert find_far_cells(Table(sparse.csr_array(features), None, tuple(f"x{n}" for n in range(20)))) == ()


def test_columns_of_one_value_are_counted() -> None:
    rng = np.random.default_rng(4)
    constant = np.full(30, 2.5)
    (note,) = notes_on_cells(table_of(rng.normal(size=30), *[constant] * 5))
    assert note == "5 of 6 columns hold one value in every row: 'b', 'c', 'd' and 2 more"


def test_cells_that_are_still_to_be_filled_are_no_far_ones() -> None:
    rng = np.random.default_rng(5)
    column, empty = rng.normal(size=100), np.full(100, np.nan)
    column[::7] = np.nan
    assert find_far_cells(table_of(column, empty)) == ()
    column[3] = 1e9
    (found,) = find_far_cells(table_of(column, empty))
    assert found.rows == (4,)
