"""The rule by which a job is refused whose gradients would tell labels."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hekat.errors import PolicyError
from hekat.protocol.vertical_linear.batches import draw_batches
from hekat.protocol.vertical_linear.label_leak import LEAST_ROWS, LeakCount, check_label_leak, count_thin_columns
from hekat.protocol.vertical_linear.settings import LEAK_ACCEPTED


@pytest.mark.parametrize(("batches", "columns", "refused"), [(10, 10, False), (10, 11, True), (101, 1, True)])
def test_more_equations_than_a_tenth_of_the_rows_are_refused(batches: int, columns: int, refused: bool) -> None:
    count = LeakCount("shop", batches, columns, 1000, 0)
    assert f"{batches * columns} linear equations over 1000 rows" in count.describe()
    check_label_leak(count, LEAK_ACCEPTED)
    if refused:
        with pytest.raises(PolicyError, match="gradients of host shop would tell labels") as caught:
            check_label_leak(count, None)
        assert LEAK_ACCEPTED in caught.value.cure
    else:
        check_label_leak(count, None)


def test_thin_columns_are_refused_unless_accepted() -> None:
    count = LeakCount("shop", 1, 2, 1000, 1)
    with pytest.raises(PolicyError, match="1 columns of host shop would tell labels of single rows"):
        check_label_leak(count, None)
    check_label_leak(count, LEAK_ACCEPTED)


@pytest.mark.parametrize("apart", [0, 1, 9, 10, 11])
@pytest.mark.parametrize("common", [0.0, 1.0, -2.5])
@pytest.mark.parametrize("sparse", [False, True])
def test_a_column_is_thin_where_few_rows_differ_from_the_rest(apart: int, common: float, sparse: bool) -> None:
    """Zeros but for few rows, as of a rare category, and as well one value but for few rows: its complement."""
    from scipy.sparse import csr_array

    column = np.full(60, common)
    column[:apart] = np.arange(apart) + 3.0
    features = np.column_stack([column, np.random.default_rng(1).normal(size=60)])
    assert count_thin_columns(csr_array(features) if sparse else features, [np.arange(60)]) == int(apart < LEAST_ROWS)


@given(seed=st.integers(0, 2**32), rows=st.integers(1, 60), kinds=st.integers(1, 4), batch_rows=st.integers(1, 60))
def test_thin_columns_are_those_counted_one_by_one(seed: int, rows: int, kinds: int, batch_rows: int) -> None:
    from scipy.sparse import csr_array

    rng = np.random.default_rng(seed)
    features = rng.integers(0, kinds, (rows, 5)) * (rng.random((rows, 5)) < rng.random(5)) * 1.5
    batches = draw_batches(rows, batch_rows, 1)

    def is_thin(column: int) -> bool:
        return any(len(b) - np.unique(features[b, column], return_counts=True)[1].max() < LEAST_ROWS for b in batches)

    expected = sum(is_thin(column) for column in range(5))
    assert count_thin_columns(features, batches) == expected
    assert count_thin_columns(csr_array(features), batches) == expected
