"""Whether two parties mean the same columns, and how their columns differ where they do not."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import replace

from hekat.data.features import is_dense
from hekat.data.table import Table
from hekat.errors import InputError
from hekat.first_few import first_few

_MAX_NAMES_SHOWN = 5


def schema_digest(table: Table, names: Sequence[str] | None = None) -> str:
    """What two parties compare to learn whether their tables have one schema.

    Args:
        table: The table.
        names: What stands for the names of its columns; None for the names themselves.

    Returns:
        SHA-256, in hex, over column names in order, kind of label, dense or sparse; equal only for equal schemas.

    Examples:
        >>> import numpy as np
        >>> from hekat.data import Table, schema_digest
        >>> a, b = (Table(np.array([[value]]), None, ("age",)) for value in (61.0, 40.0))
        >>> schema_digest(a) == schema_digest(b)
        True
    """
    kind = "none" if table.labels is None else {"i": "class", "f": "number"}.get(table.labels.dtype.kind, "raw")
    if not is_dense(table.features):
        kind += ", sparse"
    digest = hashlib.sha256(b"hekat table schema 1")
    for text in (kind, *(table.feature_names if names is None else names)):
        encoded = text.encode()
        digest.update(len(encoded).to_bytes(8, "little") + encoded)
    return digest.hexdigest()


def describe_schema_difference(a: Sequence[str], b: Sequence[str]) -> str:
    """How two parties' columns differ, for the text of an error.

    Args:
        a: The column names to compare with.
        b: The column names that may differ.

    Returns:
        One sentence; an empty text where they are the same.

    Examples:
        >>> from hekat.data import describe_schema_difference
        >>> describe_schema_difference(("age",), ("age",))
        ''
    """
    if list(a) == list(b):
        return ""
    parts = []
    for names, word in ((set(a) - set(b), "missing"), (set(b) - set(a), "unknown")):
        if names:
            parts.append(f"{word} {_some(sorted(names))}")
    if not parts:
        first = next((number for number, pair in enumerate(zip(a, b, strict=False)) if pair[0] != pair[1]), None)
        if first is None:
            return f"{len(b)} columns instead of {len(a)}"
        return f"the same columns in another order, first at column {first + 1}: {b[first]!r} instead of {a[first]!r}"
    return "; ".join(parts)


def check_same_schema(columns: Mapping[str, Sequence[str]]) -> None:
    """Check that all parties have the same columns in the same order.

    Args:
        columns: For each party's name its column names.

    Raises:
        InputError: They differ; the message says how.

    Examples:
        >>> from hekat.data import check_same_schema
        >>> check_same_schema({"a": ("age", "smokes"), "b": ("age", "smokes")})
    """
    parties = list(columns)
    for party in parties[1:]:
        difference = describe_schema_difference(columns[parties[0]], columns[party])
        if difference:
            raise InputError(
                f"parties {parties[0]} and {party} do not have the same columns",
                expected=f"{len(columns[parties[0]])} columns as at {parties[0]}, in the same order",
                got=f"at {party}: {difference}",
                cure=f"bring the table of {party} into the same columns and order, or ignore columns in the site file",
            )


def arrange_columns(table: Table, names: Sequence[str]) -> Table:
    """A table with its columns in another order.

    Args:
        table: The table.
        names: The names in the order wanted.

    Returns:
        The arranged table; `table` itself where the names are not the same.

    Examples:
        >>> import numpy as np
        >>> from hekat.data import Table, arrange_columns
        >>> table = Table(np.array([[61.0, 1.0]]), None, ("age", "smokes"))
        >>> arrange_columns(table, ("smokes", "age")).features
        array([[ 1., 61.]])
    """
    if table.feature_names == tuple(names) or sorted(table.feature_names) != sorted(names):
        return table
    position = {name: number for number, name in enumerate(table.feature_names)}
    order = [position[name] for name in names]
    return replace(table, features=table.features[:, order], feature_names=tuple(names))


def _some(names: Sequence[str]) -> str:
    return first_few([*map(repr, names)], _MAX_NAMES_SHOWN)
