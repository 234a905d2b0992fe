"""Gets a table from a function in a Python file beside the site file: the site's own code, never the job's."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from hekat.data.site_function import load_function
from hekat.data.table import Table
from hekat.errors import InputError


def load_python(
    function: str, folder: Path, arguments: Mapping[str, Any] | None = None, *, name: str | None = None
) -> Table:
    """What `function` ("module:function", the module a file in `folder`) returns: a Table, or (X, y, names[, ids]).

    X may be sparse (scipy.sparse), y may be None. Raises InputError, also for whatever the function raises; the message
    has its type and line only.
    """
    source = load_function(function, folder, returns="(X, y, names)", example="hospital_data:load")
    return _as_table(source.call(arguments or {}), function, name or function)


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
    return Table(features, labels, column_names, name, tuple(str(one) for one in ids[0]) if ids else None)
