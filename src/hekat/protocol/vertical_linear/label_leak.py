"""When gradients tell labels: the rule that a job with an arbiter is refused by, unless it accepts that in words.

A host sees X^T d of its own columns X for each batch: as many linear equations on the residuals d, and so on the
labels, as it has columns. Batches are kept, so later epochs add no others. And a column that differs from its most
common value v in a few rows alone tells the sum of those rows' d, up to v times the sum of all, which other columns
may give: with one such row, its label.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from hekat.data import Features, is_dense
from hekat.errors import PolicyError
from hekat.protocol.vertical_linear.settings import LEAK_ACCEPTED

IntArray = npt.NDArray[np.int64]

ROWS_PER_EQUATION = 10
LEAST_ROWS = 10
"""So many rows of each batch must differ from a column's most common value there, or the column is thin."""


@dataclass(frozen=True)
class LeakCount:
    """What a party's gradients tell of the rows, as the rule counts it; `thin_columns` None where nobody told."""

    party: str
    batch_count: int
    column_count: int
    row_count: int
    thin_columns: int | None = None

    @property
    def equation_count(self) -> int:
        return self.batch_count * self.column_count

    def describe(self) -> str:
        """The line of the ledger."""
        return (
            f"{self.party} learns its gradients: {self.equation_count} linear equations over {self.row_count} rows "
            f"({self.batch_count} batches x {self.column_count} columns)"
        )


def check_label_leak(count: LeakCount, accepted: str | None) -> None:
    """Raise PolicyError where a host could solve for labels, unless `accepted` is the sentence that allows it."""
    if accepted == LEAK_ACCEPTED:
        return
    cure = (
        f'use larger batches or fewer columns, or protection.form = "shared_weights", or let the job say '
        f'label_leak.accepted = "{LEAK_ACCEPTED}"'
    )
    if count.equation_count * ROWS_PER_EQUATION > count.row_count:
        rows = f"{count.row_count} rows" if count.batch_count > 1 else f"the {count.row_count} rows of one batch"
        batches = f"{count.batch_count} batches" if count.batch_count > 1 else "1 batch"
        raise PolicyError(
            f"the gradients of host {count.party} would tell labels",
            expected=f"at most {count.row_count // ROWS_PER_EQUATION} equations: a tenth of {rows}",
            got=f"{count.equation_count}: {batches} x {count.column_count} columns",
            cure=cure,
        )
    if count.thin_columns:
        raise PolicyError(
            f"{count.thin_columns} columns of host {count.party} would tell labels of single rows",
            expected=f"at least {LEAST_ROWS} rows of each batch that differ from a column's most common value",
            got="fewer",
            cure=f"leave rare categories out or merge them, {cure}",
        )


def count_thin_columns(features: Features, batches: Iterable[IntArray]) -> int:
    """How many columns have, in some batch, fewer than LEAST_ROWS rows that differ from the most common value there.

    A column of zeros but for few rows is one, and so is one that is 1 but for few rows. Standardising changes none.
    """
    thin = np.zeros(features.shape[1], np.bool_)
    for rows in batches:
        part = features[rows]
        thin |= _is_thin(part) if is_dense(part) else _is_thin_sparse(part)
    return int(thin.sum())


def _is_thin(part: npt.NDArray[np.float64]) -> npt.NDArray[np.bool_]:
    row_count = len(part)
    if row_count < LEAST_ROWS:
        return np.ones(part.shape[1], np.bool_)
    if row_count < 2 * LEAST_ROWS:
        return np.array([row_count - _most_common_count(column) < LEAST_ROWS for column in part.T])
    # A value that all but few rows have is that of most rows, so the middle one in order.
    middle = np.partition(part, row_count // 2, axis=0)[row_count // 2]
    return np.asarray((part != middle).sum(axis=0) < LEAST_ROWS)


def _most_common_count(column: npt.NDArray[np.float64]) -> int:
    return int(np.unique(column, return_counts=True)[1].max())


def _is_thin_sparse(part: Features) -> npt.NDArray[np.bool_]:
    """As `_is_thin` of rows written out; only columns with few zeros or few others are looked into."""
    assert not is_dense(part)
    row_count, column_count = part.shape
    by_column = part.tocsc()
    by_column.eliminate_zeros()
    nonzero = np.diff(by_column.indptr)
    thin = np.asarray((nonzero < LEAST_ROWS) | (row_count < LEAST_ROWS))
    # Elsewhere the most common value may be another than zero, where it leaves less than LEAST_ROWS zeros.
    doubtful: Sequence[int] = np.flatnonzero(~thin & (nonzero > row_count - LEAST_ROWS)).tolist()
    for column in doubtful:
        stored = by_column.data[by_column.indptr[column] : by_column.indptr[column + 1]]
        thin[column] = row_count - _most_common_count(stored) < LEAST_ROWS
    assert thin.shape == (column_count,)
    return thin
