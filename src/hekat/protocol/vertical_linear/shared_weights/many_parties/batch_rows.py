"""The fewest rows of a batch that keep linear algebra from rows, should both holders put together what they have.

Neither holder is opened an equation. Both together have X^T X and X^T y of each batch, and so, for every column that
they do not know, one linear equation for each column that they know. This is a second line and no bound: decision 0062
says what it leaves.
"""

from __future__ import annotations

from collections.abc import Sequence

from hekat.errors import PolicyError
from hekat.protocol.vertical.batches import batch_count
from hekat.protocol.vertical_linear.settings import VerticalLinearSettings

ROWS_PER_COLUMN = 10


def least_batch_rows(settings: VerticalLinearSettings, column_count: int) -> int:
    """The fewest rows that a batch may have, with so many columns of all parties; 0 where both parties hold shares."""
    if not settings.quiet_parties:
        return 0
    return ROWS_PER_COLUMN * (1 + column_count + settings.column_count)


def check_batch_rows(settings: VerticalLinearSettings, column_counts: Sequence[int], row_count: int) -> None:
    """Raise PolicyError where a batch of `row_count` rows in the job's batches has too few, with a cure that works."""
    least = least_batch_rows(settings, sum(column_counts))
    smallest = row_count // max(1, batch_count(row_count, settings.training.batch_rows))
    if smallest >= least:
        return
    most_batches = row_count // least
    if most_batches:
        cure = f"set training.batch_rows to {-(-row_count // most_batches)} or more, or to 0: all rows in one batch"
    else:
        most_columns = row_count // ROWS_PER_COLUMN - 1 - settings.column_count
        cure = "find more rows that all parties have"
        if most_columns >= len(settings.hosts):
            cure = f"leave out columns, until all parties together have at most {most_columns}, or {cure}"
    first, second = settings.holders
    raise PolicyError(
        f"batches have so few rows that {first} and {second}, should they work together, could solve for rows",
        expected=f"{least:,} rows or more in each batch: {ROWS_PER_COLUMN} for each of {sum(column_counts)} columns, "
        f"of {settings.column_count} columns of labels and of the ones",
        got=f"{smallest:,} rows",
        cure=cure,
    )
