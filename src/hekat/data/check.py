"""What a table must be before anybody trains on it; refusals name columns and rows, never a value."""

from __future__ import annotations

import numpy as np

from hekat.data.features import is_dense
from hekat.data.table import Table
from hekat.errors import InputError

ID_CURE = (
    "where the site file describes this data: id = COLUMN or id = [COLUMN, COLUMN] of a csv or parquet source, "
    "ids = FILE of npy; an npz archive holds an array ids, a python function returns (X, y, names, ids); a libsvm file "
    "has no place for ids"
)


def check_finite(table: Table) -> None:
    """Check that no feature is NaN or infinite; an empty cell that is still to be filled, or that trees keep, is NaN.

    Args:
        table: The table.

    Raises:
        InputError: One is; the message names column and row (1 is the first row of data), never a value.

    Examples:
        >>> import numpy as np
        >>> from hekat.data import Table, check_finite
        >>> check_finite(Table(np.array([[61.0], [40.0]]), None, ("age",)))
    """
    features = table.features
    stored = features.reshape(-1) if is_dense(features) else features.data
    broken = np.flatnonzero(np.isinf(stored) if table.keeps_gaps else ~np.isfinite(stored))
    if not broken.size:
        return
    if is_dense(features):
        rows, columns = np.divmod(broken, features.shape[1])
    else:
        rows, columns = np.searchsorted(features.indptr, broken, side="right") - 1, features.indices[broken]
    if table.open_fills:
        names = {name for fill in table.open_fills for name in fill.names}
        is_open = np.array([name in names for name in table.feature_names])
        refused = ~(is_open[columns] & np.isnan(stored[broken]))
        broken, rows, columns = broken[refused], rows[refused], columns[refused]
        if not broken.size:
            return
    is_missing = bool(np.isnan(stored[broken[0]]))
    raise InputError(
        f"{table.name} has a {'missing value (NaN)' if is_missing else 'value that is infinite'}",
        expected="a finite number in every cell",
        got=f"column {table.feature_names[int(columns[0])]!r}, row {int(rows[0]) + 1} "
        f"({np.unique(rows).size:,} rows in all)",
        cure="fill in or remove those rows before training"
        + ("; a job can fill empty cells of dense rows alone" if is_missing and not is_dense(features) else ""),
    )


def check_has_rows(table: Table) -> None:
    """Check that a table has rows.

    Args:
        table: The table.

    Raises:
        InputError: The table has no rows.

    Examples:
        >>> import numpy as np
        >>> from hekat.data import Table, check_has_rows
        >>> check_has_rows(Table(np.array([[61.0]]), None, ("age",)))
    """
    if not len(table):
        raise InputError(
            f"{table.name} has no rows", expected="at least one row", got="0 rows", cure="check where the data is read"
        )


def check_has_labels(table: Table) -> None:
    """Check that a table has labels.

    Args:
        table: The table.

    Raises:
        InputError: The table has no labels.

    Examples:
        >>> import numpy as np
        >>> from hekat.data import Table, check_has_labels
        >>> check_has_labels(Table(np.array([[61.0]]), np.array([1]), ("age",)))
    """
    if table.labels is None:
        raise InputError(
            f"{table.name} has no labels",
            expected="a label for each row",
            got="none",
            cure="name the label column where the site file describes this data",
        )


def check_has_no_labels(table: Table) -> None:
    """Check that a table has no labels, for parties that hold columns alone.

    Args:
        table: The table.

    Raises:
        InputError: The table has labels.

    Examples:
        >>> import numpy as np
        >>> from hekat.data import Table, check_has_no_labels
        >>> check_has_no_labels(Table(np.array([[61.0]]), None, ("age",)))
    """
    if table.labels is not None:
        raise InputError(
            f"{table.name} has labels, and so has another party",
            expected="labels at one party, the guest",
            got="labels at a host",
            cure="in the site file name the label column under ignore instead of label; in an array source leave "
            "labels out",
        )


def check_has_ids(table: Table) -> None:
    """Check that a table has ids, for parties that hold different columns of the same records.

    Args:
        table: The table.

    Raises:
        InputError: The table has no ids.

    Examples:
        >>> import numpy as np
        >>> from hekat.data import Table, check_has_ids
        >>> check_has_ids(Table(np.array([[61.0], [40.0]]), None, ("age",), ids=["ann", "bob"]))
    """
    if table.ids is None:
        raise InputError(
            f"{table.name} has no ids",
            expected="an id for each row, by which parties find the rows that they share",
            got="none",
            cure=ID_CURE,
        )


def check_has_columns(table: Table) -> None:
    """Check that a table has a feature column.

    Args:
        table: The table.

    Raises:
        InputError: The table has labels or ids alone.

    Examples:
        >>> import numpy as np
        >>> from hekat.data import Table, check_has_columns
        >>> check_has_columns(Table(np.array([[61.0]]), np.array([1]), ("age",)))
    """
    if not table.features.shape[1]:
        raise InputError(
            f"{table.name} has no feature columns",
            expected="at least one column besides label, id and ignore",
            got="none",
            cure="add a column to learn from, or name fewer under ignore in the site file; only the guest of a "
            "vertical regression in form 'shared_weights' may have labels alone",
        )


def check_for_training(table: Table) -> None:
    """Check that a table can be trained on: it has columns, labels and two rows.

    One row is refused because an update from one row tells that row. One class is not: silos are often so, and which
    classes there are is public in the job.

    Args:
        table: The table.

    Raises:
        InputError: The table has no columns, no labels, or fewer than two rows.

    Examples:
        >>> import numpy as np
        >>> from hekat.data import Table, check_for_training
        >>> check_for_training(Table(np.array([[61.0], [40.0]]), np.array([1, 0]), ("age",)))
    """
    check_has_rows(table)
    check_has_columns(table)
    check_has_labels(table)
    if len(table) == 1:
        raise InputError(
            f"{table.name} has one row",
            expected="at least 2 rows",
            got="1 row",
            cure="leave this party out: an update from a single row would tell that row",
        )


def has_one_class(table: Table) -> bool:
    """Whether labels are classes and all rows are of one of them.

    Args:
        table: A table whose labels `encode_labels` encoded.

    Returns:
        False for int64 labels of several classes, for float64 labels, and without labels.

    Examples:
        >>> import numpy as np
        >>> from hekat.data import Table, has_one_class
        >>> has_one_class(Table(np.array([[61.0], [40.0]]), np.array([1, 1]), ("age",)))
        True
    """
    labels = table.labels
    return labels is not None and labels.dtype.kind in "iu" and bool((labels == labels[:1]).all())


def find_constant_columns(table: Table) -> tuple[str, ...]:
    """The columns that hold one value in every row, which no model learns from.

    Args:
        table: The table; zeros that sparse rows leave out count too.

    Returns:
        Their names; all names where there are no rows.

    Examples:
        >>> import numpy as np
        >>> from hekat.data import Table, find_constant_columns
        >>> find_constant_columns(Table(np.array([[61.0, 1.0], [40.0, 1.0]]), None, ("age", "smokes")))
        ('smokes',)
    """
    features = table.features
    if is_dense(features):
        is_constant = (features == features[:1]).all(axis=0)
    else:
        row_count, column_count = features.shape
        lowest, highest = np.full(column_count, np.inf), np.full(column_count, -np.inf)
        np.minimum.at(lowest, features.indices, features.data)
        np.maximum.at(highest, features.indices, features.data)
        has_zero = np.bincount(features.indices, minlength=column_count) < row_count
        lowest[has_zero], highest[has_zero] = np.minimum(lowest[has_zero], 0), np.maximum(highest[has_zero], 0)
        is_constant = lowest >= highest
    return tuple(table.feature_names[column] for column in np.flatnonzero(is_constant))
