"""How the rule on columns that share few rows gives out rows, dense and sparse."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy.sparse import csr_array

from hekat.errors import PolicyError
from hekat.protocol.vertical_linear.label_leak.column_rows import check_column_rows, count_crowded_columns
from hekat.protocol.vertical_linear.settings import LEAK_ACCEPTED, VerticalLinearSettings

ROWS = 240


def job_of(classes: str = "ab", accepted: str | None = None) -> VerticalLinearSettings:
    return VerticalLinearSettings(
        "bank", ("shop",), arbiter="judge", classes=tuple(classes), label_leak_accepted=accepted
    )


def columns_on(*rows: range, elsewhere: float = -0.25) -> np.ndarray:
    """One column for each range: different values in its rows, and one value in all others."""
    columns = np.full((ROWS, len(rows)), elsewhere)
    rng = np.random.default_rng(1)
    for number, part in enumerate(rows):
        columns[part, number] = rng.uniform(1, 2, len(part))
    return columns


CASES = [
    ("apart", columns_on(range(30), range(30, 60), range(60, 90)), 30, 0),
    ("apart, one row short", columns_on(range(30), range(30, 60), range(60, 89)), 30, 1),
    ("the same rows", columns_on(range(60), range(60)), 30, 0),
    ("the same rows, one short", columns_on(range(59), range(59)), 30, 2),
    # Halves of all rows would leave the first column with 15; the second column's other rows suffice for it.
    ("one within the other", columns_on(range(30), range(60)), 27, 0),
    ("three within sixty", columns_on(range(30), range(40), range(60)), 20.1, 2),
    ("a chain", columns_on(range(40), range(20, 60), range(40, 90)), 27, 0),
    ("all rows differ", np.random.default_rng(2).normal(size=(ROWS, 8)), 30, 0),
    ("all rows differ, a column too many", np.random.default_rng(2).normal(size=(ROWS, 9)), 30, 9),
    ("one value alone", np.ones((ROWS, 1)), 1, 1),
    ("a common value that is not zero", columns_on(range(29), range(29), elsewhere=7.0), 29, 2),
]


@pytest.mark.quick_values
@pytest.mark.parametrize("form", ["dense", "sparse"])
@pytest.mark.parametrize(
    ("columns", "needed", "lacking"), [case[1:] for case in CASES], ids=[case[0] for case in CASES]
)
def test_every_column_needs_rows_of_its_own(columns, needed: float, lacking: int, form: str) -> None:
    part = csr_array(columns) if form == "sparse" else columns
    assert count_crowded_columns(part, needed) == lacking


@pytest.mark.parametrize("seed", range(20))
def test_no_choice_of_columns_that_is_accepted_has_fewer_rows_than_it_needs(seed: int) -> None:
    """Tries every choice one by one; where all columns have a tenth to spare, the rule refuses nothing."""
    rng = np.random.default_rng(seed)
    apart = rng.random((ROWS, 6)) < rng.uniform(0.02, 0.3, 6)
    choices = [list(one) for size in range(1, 7) for one in itertools.combinations(range(6), size)]
    most = min(apart[:, choice].any(axis=1).sum() / len(choice) for choice in choices)
    part = np.where(apart, rng.uniform(1, 2, apart.shape), 0.0)
    assert count_crowded_columns(part, most + 0.01) > 0
    assert count_crowded_columns(part, 0.9 * most) == 0


def test_sparse_columns_that_are_mostly_one_number_are_counted_by_it() -> None:
    columns = np.where(np.arange(ROWS)[:, np.newaxis] % 10 == 0, 0.0, np.full((ROWS, 2), 3.0))
    assert count_crowded_columns(csr_array(columns), 12) == 0
    assert count_crowded_columns(csr_array(columns), 12.1) == 2


@pytest.mark.parametrize(("classes", "rows", "refused"), [("ab", 26, False), ("ab", 25, True), ("abcd", 52, False)])
def test_a_column_needs_the_rows_whose_labels_hold_what_it_tells(classes: str, rows: int, refused: bool) -> None:
    """18 bits of a feature and 8 of 240 rows; four classes have four times as many, for labels of two bits."""
    columns = columns_on(range(rows))
    batches = [np.arange(ROWS), np.arange(ROWS)]
    if not refused:
        check_column_rows("shop", columns, batches, 18, job_of(classes))
        return
    with pytest.raises(PolicyError, match="1 columns of host shop share so few rows") as caught:
        check_column_rows("shop", columns, batches, 18, job_of(classes))
    assert LEAK_ACCEPTED in caught.value.cure
    check_column_rows("shop", columns, batches, 18, job_of(classes, LEAK_ACCEPTED))


def test_every_batch_counts() -> None:
    columns = columns_on(range(100, 140))
    check_column_rows("shop", columns, [np.arange(140), np.arange(90, 240)], 18, job_of())
    with pytest.raises(PolicyError):
        check_column_rows("shop", columns, [np.arange(140), np.arange(120, 240)], 18, job_of())
