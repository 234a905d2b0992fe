"""What a table must be before anybody trains on it; refusals name columns and rows, never a value."""

from __future__ import annotations

import numpy as np

from hekat.data.table import Table
from hekat.errors import InputError


def check_finite(table: Table) -> None:
    """Raise InputError at the first NaN or infinite feature, by column and row (1 is the first row of data)."""
    broken_rows = np.flatnonzero(~np.isfinite(table.features).all(axis=1))
    if not broken_rows.size:
        return
    row = int(broken_rows[0])
    column = int(np.flatnonzero(~np.isfinite(table.features[row]))[0])
    is_missing = bool(np.isnan(table.features[row, column]))
    raise InputError(
        f"{table.name} has a {'missing value (NaN)' if is_missing else 'value that is infinite'}",
        expected="a finite number in every cell",
        got=f"column {table.feature_names[column]!r}, row {row + 1} ({broken_rows.size} rows in all)",
        cure="fill in or remove those rows before training",
    )


def check_has_rows(table: Table) -> None:
    """Raise InputError for a table without rows."""
    if not len(table):
        raise InputError(
            f"{table.name} has no rows", expected="at least one row", got="0 rows", cure="check where the data is read"
        )


def check_for_training(table: Table) -> None:
    """Raise InputError unless `table` (labels encoded) can be trained on: labels, two rows, two classes.

    One row is refused because an update from one row tells that row.
    """
    check_has_rows(table)
    if table.labels is None:
        raise InputError(
            f"{table.name} has no labels",
            expected="a label for each row",
            got="none",
            cure="name the label column where the site file describes this data",
        )
    if len(table) == 1:
        raise InputError(
            f"{table.name} has one row",
            expected="at least 2 rows",
            got="1 row",
            cure="leave this party out: an update from a single row would tell that row",
        )
    if table.labels.dtype.kind in "iu" and bool((table.labels == table.labels[0]).all()):
        raise InputError(
            f"{table.name} has rows of one class only",
            expected="rows of at least 2 classes",
            got="1 class",
            cure="check the label column and the job's classes, or leave this party out",
        )
