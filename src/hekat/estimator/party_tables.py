"""Each party's table, from the arguments that scikit-learn's callers give: arrays by party, or one array and who
holds which columns."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from hekat.data import Table, is_dataframe
from hekat.errors import InputError
from hekat.estimator.data_frames import (
    IdName,
    align_labels,
    check_same_index,
    column_names,
    id_name_at,
    numbers_of,
    plain_labels,
    take_columns,
    take_ids,
)

Columns = Mapping[str, Any]
"""The columns of each party, by party: a slice, positions, a mask, or names where the array has them."""


def read_parties(X: Any, columns: Columns | None, guest: str | None, id_name: IdName = None) -> dict[str, Table]:
    """Make each party's table without labels, the guest's first; `guest` None takes the first party.

    `X` is {party: array, data frame or Table}, or one array or data frame that `columns` cuts; `id_name` says which
    column of data frames has ids. Raises InputError for anything else, for different numbers of rows (tables with ids
    may differ), for data frames without ids whose indexes differ, and for an unknown guest.
    """
    given = X if isinstance(X, Mapping) else _cut(X, columns, id_name)
    if not given:
        raise _refusal("X names no party", "{party: its columns}", "an empty mapping")
    if id_name is None:
        check_same_index({str(name): values for name, values in given.items()})
    tables = {str(name): as_table(values, str(name), id_name) for name, values in given.items()}
    guest = next(iter(tables)) if guest is None else guest
    if guest not in tables:
        raise _refusal("the guest is not among the parties", repr(guest), ", ".join(map(repr, tables)))
    tables = {guest: tables.pop(guest), **tables}
    if any(table.ids is None for table in tables.values()):
        _check_aligned(tables)
    return tables


def as_table(values: Any, name: str, id_name: IdName = None) -> Table:
    """Make one party's Table without labels from an array, sparse matrix, data frame or Table; a Table has its own ids.

    Raises InputError.
    """
    if isinstance(values, Table):
        return replace(values, labels=None)
    column = id_name_at(name, id_name)
    ids, values = (None, values) if column is None else take_ids(values, name, column)
    array = _content(values, name)
    if getattr(array, "ndim", 0) != 2:
        raise _refusal(
            f"columns of {name} are no table", "an array (rows, columns)", f"shape {getattr(array, 'shape', '()')}"
        )
    names = _names_of(values) or tuple(f"x{number}" for number in range(array.shape[1]))
    return Table(array, None, names, name, ids)


def check_ids(tables: Iterable[Table]) -> None:
    """Raise InputError for a table without ids, where common rows are to be found by ids."""
    for table in tables:
        if table.ids is None:
            raise InputError(
                f"{table.name} has no ids to find common rows by",
                expected="an id for each row",
                got="none",
                cure="name the id column of its data frame: id='COLUMN', or give a hekat.data.Table with ids; or "
                "intersection=None where rows are already of the same records, row by row",
            )


def labels_for(X: Any, y: Any, guest: str, row_count: int) -> npt.NDArray[Any]:
    """One label for each of the guest's rows: `y`, or the labels of its Table where `y` is None.

    Raises InputError for labels that are missing, given twice, of another length, or at a host.
    """
    held = [name for name, values in _tables_in(X).items() if values.labels is not None]
    strangers = [name for name in held if name != guest]
    if strangers:
        raise InputError(
            "labels at a party that is not the guest",
            expected=f"labels at {guest!r} alone",
            got=f"labels in the table of {strangers[0]!r}",
            cure="name the party that has them as guest, and give the others' tables without labels",
        )
    if (y is None) != bool(held):
        raise _refusal(
            "labels are needed once", "y, or labels in the guest's Table", "both" if held else "neither of them"
        )
    held_labels = _tables_in(X)[guest].labels if y is None else None
    labels = held_labels if y is None else plain_labels(align_labels(y, _rows_of(X, guest), guest), guest)
    assert labels is not None
    if labels.shape != (row_count,):
        raise _refusal("labels do not fit the guest's rows", f"shape ({row_count},)", f"shape {labels.shape}")
    return labels


def _rows_of(X: Any, guest: str) -> Any:
    """What was given as the guest's rows; X itself where it is cut by columns."""
    return {str(name): values for name, values in X.items()}.get(guest) if isinstance(X, Mapping) else X


def _tables_in(X: Any) -> dict[str, Table]:
    return {str(name): one for name, one in X.items() if isinstance(one, Table)} if isinstance(X, Mapping) else {}


def _cut(X: Any, columns: Columns | None, id_name: IdName) -> dict[str, Table]:
    """The parties' tables from one array or data frame, whose rows are of the same records at all of them."""
    if columns is None:
        raise InputError(
            "one array for several parties, and no word on who holds which columns",
            expected="{party: its columns}, or one array and the parameter columns",
            got=type(X).__name__,
            cure="say columns={'bank': slice(0, 13), 'insurer': slice(13, 23)} when the estimator is made",
        )
    if id_name is not None:
        raise InputError(
            "the parameter id belongs to a table for each party",
            expected="{party: its data frame}",
            got="one array or data frame, whose rows are of the same records at all parties",
            cure="leave id out, and name the columns that are features in the parameter columns; or give each party's "
            "data frame",
        )
    array = X if is_dataframe(X) else _content(X, "X")
    if not is_dataframe(X) and getattr(array, "ndim", 0) != 2:
        raise _refusal("X is no table", "an array (rows, columns)", f"shape {getattr(array, 'shape', '()')}")
    names = _names_of(X) or tuple(f"x{number}" for number in range(array.shape[1]))
    rows = array.tocsc() if hasattr(array, "tocsc") else array
    holder: dict[int, str] = {}
    tables = {}
    for party, chosen in columns.items():
        positions = _positions(chosen, names, party)
        twice = [position for position in positions if position in holder]
        if twice or len(set(positions)) != len(positions):
            raise _refusal("a column is given out twice", "each column at one party", f"one that repeats at {party!r}")
        holder |= dict.fromkeys(positions, party)
        part = numbers_of(take_columns(X, positions, party), party) if is_dataframe(X) else rows[:, positions]
        tables[party] = Table(part, None, tuple(names[position] for position in positions), party)
    return tables


def _positions(chosen: Any, names: tuple[str, ...], party: str) -> list[int]:
    chosen = [chosen] if isinstance(chosen, str | int | np.integer) else chosen
    if not isinstance(chosen, slice) and len(chosen) and all(isinstance(one, str) for one in chosen):
        unknown = [one for one in chosen if one not in names]
        if unknown:
            raise _refusal(f"a column of {party} is not in X", f"names in X's {len(names)} columns", repr(unknown[0]))
        doubtful = [one for one in chosen if names.count(one) > 1]
        if doubtful:
            raise _refusal(
                f"a column of {party} cannot be told by its name", "names that X has once", repr(doubtful[0])
            )
        return [names.index(one) for one in chosen]
    if not isinstance(chosen, slice):
        chosen = np.asarray(chosen) if len(chosen) else np.zeros(0, dtype=np.int64)
    try:
        found = np.arange(len(names))[chosen]
    except IndexError:
        raise _refusal(f"columns of {party} are not in X", f"positions below {len(names)}", "others") from None
    return [int(position) for position in found]


def _check_aligned(tables: Mapping[str, Table]) -> None:
    counts = {name: len(table) for name, table in tables.items()}
    if len(set(counts.values())) > 1:
        raise InputError(
            "parties do not have the same rows",
            expected="as many rows at each, row by row of the same records; or tables with ids",
            got=", ".join(f"{name}: {count}" for name, count in counts.items()),
            cure="name the id column of data frames: id='COLUMN', or give a hekat.data.Table with ids: common rows are "
            "then found by intersection",
        )


def _content(values: Any, name: str) -> Any:
    if hasattr(values, "tocsr"):
        return values
    return numbers_of(values, name) if is_dataframe(values) else np.asarray(values)


def _names_of(values: Any) -> tuple[str, ...] | None:
    return column_names(values) if is_dataframe(values) else None


def _refusal(what: str, expected: str, got: str) -> InputError:
    return InputError(what, expected=expected, got=got)
