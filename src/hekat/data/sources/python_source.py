"""Gets a table from a function in a Python file beside the site file: the site's own code, never the job's."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from hekat.data.ids import Ids, make_ids
from hekat.data.sources.site_function import load_function
from hekat.data.table import Table
from hekat.errors import InputError


def load_python(
    function: str, folder: Path, arguments: Mapping[str, Any] | None = None, *, name: str | None = None
) -> Table:
    """Get a table from a function in a Python file.

    Args:
        function: "module:function", the module a file in `folder`. It returns a Table or (X, y, names[, ids]); X may be
            sparse (scipy.sparse), y may be None.
        folder: Where the file lies.
        arguments: What the function is called with, by name.
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
    return _as_table(_call(function, folder, arguments), function, name or function)


def load_python_ids(
    function: str, folder: Path, arguments: Mapping[str, Any] | None = None, *, name: str | None = None
) -> Ids:
    """The ids that `function` returns: beside a table, or alone, as a list, an array or a dict of columns.

    A tuple is taken for (X, y, names, ids). Raises InputError as `load_python`.
    """
    result = _call(function, folder, arguments)
    name = name or function
    ids = _as_table(result, function, name).ids if isinstance(result, Table | tuple) else result
    if ids is None:
        raise InputError(
            f"{function} returns no ids",
            expected="ids, (X, y, names, ids), or a hekat.data.Table with ids",
            got="none",
            cure="return an id for each row",
        )
    return make_ids(ids, name)


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
            expected="a hekat.data.Table, (X, y, names) or (X, y, names, ids)",
            got=got,
            cure="return the features, the labels (or None), the column names, and, if you like, an id for each row",
        )
    features, labels, names, *ids = result
    if isinstance(names, str):
        raise InputError(f"{function} returns one text for its column names", expected="one text for each column")
    column_names = tuple(str(column) for column in names)
    return Table(features, labels, column_names, name, None if not ids or ids[0] is None else make_ids(ids[0], name))
