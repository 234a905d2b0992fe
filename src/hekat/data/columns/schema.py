"""Whether two parties mean the same columns, and how their columns differ where they do not."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import replace

from hekat.data.features import is_dense
from hekat.data.table import Table
from hekat.errors import InputError

_MAX_NAMES_SHOWN = 5


def schema_digest(table: Table) -> str:
    """SHA-256 (hex) over column names in order, kind of label, dense or sparse; equal only for equal schemas."""
    kind = "none" if table.labels is None else {"i": "class", "f": "number"}.get(table.labels.dtype.kind, "raw")
    if not is_dense(table.features):
        kind += ", sparse"
    digest = hashlib.sha256(b"hekat table schema 1")
    for text in (kind, *table.feature_names):
        encoded = text.encode()
        digest.update(len(encoded).to_bytes(8, "little") + encoded)
    return digest.hexdigest()


def describe_schema_difference(a: Sequence[str], b: Sequence[str]) -> str:
    """How the column names `b` differ from `a`, for an error text; empty where they are the same."""
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
    """Raise InputError unless all parties (name -> column names) have the same columns in the same order."""
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
    """`table` with its columns in the order of `names`, as it is where they are not the same names."""
    if table.feature_names == tuple(names) or sorted(table.feature_names) != sorted(names):
        return table
    position = {name: number for number, name in enumerate(table.feature_names)}
    order = [position[name] for name in names]
    return replace(table, features=table.features[:, order], feature_names=tuple(names))


def _some(names: Sequence[str]) -> str:
    shown = ", ".join(repr(name) for name in names[:_MAX_NAMES_SHOWN])
    more = len(names) - _MAX_NAMES_SHOWN
    return f"{shown} and {more} more" if more > 0 else shown
