"""Columns in which one row outweighs the rest of a batch: checked against the definition, with all thin columns among
them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from scipy.sparse import csr_array

from hekat.protocol.vertical.batches import draw_batches
from hekat.protocol.vertical_linear.label_leak.leverage import MAX_LEVERAGE, find_high_leverage_columns


def count_columns(features, batches) -> int:
    """How many columns have a row of high leverage in a batch."""
    return int(find_high_leverage_columns(features, batches).sum())


def count_of(column: np.ndarray) -> int:
    """1 where the column has a row of high leverage in the one batch of all rows; dense and sparse agree."""
    features, rows = column[:, np.newaxis], [np.arange(len(column))]
    found = count_columns(features, rows)
    assert count_columns(csr_array(features), rows) == found
    return found


def most_weight(column: np.ndarray) -> float:
    """The largest (x_i - c)^2 over the sum of (x_j - c)^2, for many centres c and for the worst centre of each row."""
    mean, squares = column.mean(), ((column - column.mean()) ** 2).sum()
    apart = column - mean
    worst = mean - squares / (len(column) * apart[apart != 0])
    centres = np.concatenate([worst, column, np.linspace(column.min() - 9, column.max() + 9, 999)])
    weights = (column - centres[:, np.newaxis]) ** 2
    return float((weights.max(axis=1) / weights.sum(axis=1)).max())


@pytest.mark.quick_values
@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("sigma", [0.2, 1.0, 2.0])
def test_no_centre_shows_a_row_of_a_column_that_is_accepted(seed: int, sigma: float) -> None:
    column = np.random.default_rng(seed).lognormal(sigma=sigma, size=30 + 60 * seed)
    assert count_of(column) == (most_weight(column) > MAX_LEVERAGE)


def test_columns_without_tails_pass_and_long_tails_do_not() -> None:
    tails = np.random.default_rng(2).lognormal(sigma=3.0, size=1000)
    assert count_of(tails) == 1
    assert count_of(np.log(tails)) == 0


@pytest.mark.quick_values
@pytest.mark.parametrize("apart", [0, 1, 9, 10, 11])
@pytest.mark.parametrize("common", [0.0, 1.0, -3.0, 1e6 + 1 / 3])
def test_rows_apart_from_one_value_are_ten_at_least(apart: int, common: float) -> None:
    """Columns of zeros but in few rows, as rare categories have, and of another value but in few rows, some of them
    zeros."""
    column = np.full(60, common)
    column[:apart] += 3.0
    assert count_of(column) == int(apart < 10)


@given(seed=st.integers(0, 2**32), rows=st.integers(1, 60), kinds=st.integers(1, 4), batch_rows=st.integers(1, 60))
@example(seed=0, rows=10, kinds=4, batch_rows=10)
def test_thin_columns_are_among_them(seed: int, rows: int, kinds: int, batch_rows: int) -> None:
    """The columns that differ from their most common value in fewer than ten rows of some batch."""
    rng = np.random.default_rng(seed)
    features = rng.integers(0, kinds, (rows, 5)) * (rng.random((rows, 5)) < rng.random(5)) * 1.5
    batches = draw_batches(rows, batch_rows, 1)

    def is_thin(column: int) -> bool:
        return any(len(b) - np.unique(features[b, column], return_counts=True)[1].max() < 10 for b in batches)

    for column in range(5):
        one = features[:, column : column + 1]
        found = count_columns(one, batches)
        assert found >= is_thin(column)
        assert found == count_columns(csr_array(one), batches)
    found = count_columns(features, batches)
    assert found == sum(count_columns(features[:, i : i + 1], batches) for i in range(5))


def test_every_batch_counts() -> None:
    column = np.random.default_rng(1).uniform(size=200)
    column[150] = 20.0
    both = [np.arange(100), np.arange(100, 200)]
    assert [count_columns(column[:, np.newaxis], [rows]) for rows in both] == [0, 1]
    assert count_columns(column[:, np.newaxis], both) == 1


@pytest.mark.parametrize("rows", [1, 2, 19])
def test_batches_of_less_than_twenty_rows_show_their_rows(rows: int) -> None:
    assert count_of(np.where(np.arange(rows) % 2, 1.0, -1.0)) == 1
    assert count_of(np.where(np.arange(20) % 2, 1.0, -1.0)) == 0
