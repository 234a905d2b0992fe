"""Gets a table from a function in a Python file beside the site file: the site's own code, never the job's."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from hekat.data.columns.encode import encode_table
from hekat.data.columns.specs import ColumnSpecs
from hekat.data.ids import Ids, make_ids
from hekat.data.sources.dataframe import dataframe_ids, is_dataframe, load_dataframe
from hekat.data.sources.named_columns import NamedColumns
from hekat.data.sources.site_function import load_function
from hekat.data.table import Table
from hekat.errors import InputError


def load_python(
    function: str,
    folder: Path,
    arguments: Mapping[str, Any] | None = None,
    *,
    options: NamedColumns | None = None,
    columns: ColumnSpecs | None = None,
    sparse: bool = False,
    digest_rows: bool = False,
    name: str | None = None,
) -> Table:
    """Get a table from a function in a Python file.

    Args:
        function: "module:function", the module a file in `folder`. It returns a data frame (pandas, polars, PyArrow), a
            Table or (X, y, names[, ids]); X may be sparse (scipy.sparse), y may be None.
        folder: Where the file lies.
        arguments: What the function is called with, by name.
        options: The parts of the columns of a data frame; refused for anything else.
        columns: How columns become features; columns that it does not describe hold numbers.
        sparse: Hold the rows as a scipy.sparse.csr_array.
        digest_rows: Keep a digest of the rows.
        name: What errors call the table; `function` if None.

    Returns:
        The table.

    Raises:
        InputError: The function is not there, returns something else, or raises: the message then has the type and line
            of its error only.

    Examples:
        >>> from pathlib import Path
        >>> from hekat.data import load_python
        >>> _ = Path("clinic_data.py").write_text("def load(age): return [[age]], None, ['age']\\n")
        >>> load_python("clinic_data:load", Path(), {"age": 61}).features
        array([[61.]])
    """
    result, specs, options = (
        _call(function, folder, arguments),
        ColumnSpecs() if columns is None else columns,
        options or NamedColumns(),
    )
    name = name or function
    if is_dataframe(result):
        return load_dataframe(result, options, columns=specs, sparse=sparse, digest_rows=digest_rows, name=name)
    _check_no_options(options, function)
    return encode_table(_as_table(result, function, name), specs, sparse=sparse, digest_rows=digest_rows)


def load_python_ids(
    function: str,
    folder: Path,
    arguments: Mapping[str, Any] | None = None,
    *,
    options: NamedColumns | None = None,
    name: str | None = None,
) -> Ids:
    """The ids that `function` returns: in a data frame, beside a table, or alone, as a list, an array or a dict of
    columns.

    A tuple is taken for (X, y, names, ids). Raises InputError as `load_python`.
    """
    result, options = _call(function, folder, arguments), options or NamedColumns()
    name = name or function
    if is_dataframe(result):
        ids: Any = dataframe_ids(result, options.id, name)
    else:
        _check_no_options(options, function)
        ids = _as_table(result, function, name).ids if isinstance(result, Table | tuple) else result
    if ids is None:
        raise InputError(
            f"{function} returns no ids",
            expected="ids, (X, y, names, ids), or a hekat.data.Table with ids",
            got="none",
            cure="return an id for each row, or, for a data frame, say id = COLUMN in the site file",
        )
    return make_ids(ids, name)


def _check_no_options(options: NamedColumns, function: str) -> None:
    """Raise InputError where the site file names columns, and the function returns no data frame to find them in."""
    if options != NamedColumns():
        raise InputError(
            f"the site file names columns, and {function} returns no data frame",
            expected="a data frame, or a source without label, id, ignore, columns, dates, date_format and missing",
            got="another table",
            cure="return a data frame, or remove those options from the site file",
        )


def _call(function: str, folder: Path, arguments: Mapping[str, Any] | None) -> Any:
    source = load_function(function, folder, returns="(X, y, names)", example="hospital_data:load")
    return source.call(arguments or {})


def _as_table(result: Any, function: str, name: str) -> Table:
    if isinstance(result, Table):
        return replace(result, name=name)
    if not isinstance(result, tuple) or len(result) not in (3, 4):
        got = f"a tuple of {len(result)}" if isinstance(result, tuple) else type(result).__name__
        raise InputError(
            f"{function} does not return a table",
            expected="a data frame, a hekat.data.Table, (X, y, names) or (X, y, names, ids)",
            got=got,
            cure="return the features, the labels (or None), the column names, and, if you like, an id for each row",
        )
    features, labels, names, *ids = result
    if isinstance(names, str):
        raise InputError(f"{function} returns one text for its column names", expected="one text for each column")
    column_names = tuple(str(column) for column in names)
    return Table(features, labels, column_names, name, None if not ids or ids[0] is None else make_ids(ids[0], name))
