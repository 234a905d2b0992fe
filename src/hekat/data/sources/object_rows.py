"""A table from rows of Python values, taken a batch at a time: what databases and spreadsheets give."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from hekat.data.columns.choose import ChosenColumns
from hekat.data.ids import make_ids
from hekat.data.number_text import text_of
from hekat.data.raw_table import RawColumn, RawTable, TextColumn
from hekat.data.sources.date_texts import read_date_texts
from hekat.data.sources.named_columns import NamedColumns
from hekat.data.sources.object_columns import ColumnReading, read_column, strip_text
from hekat.errors import InputError

BATCH_ROWS = 10_000


def table_of_rows(
    names: Sequence[str],
    batches: Iterable[Sequence[Sequence[Any]]],
    chosen: ChosenColumns,
    options: NamedColumns,
    name: str,
) -> RawTable:
    """The chosen columns of rows with a value for each of `names`, called `name` in errors. Raises InputError."""
    place = {column: number for number, column in enumerate(names)}
    readings = {
        one: ColumnReading(f"{name}: column {one!r}", options.missing, one in chosen.dates) for one in chosen.features
    }
    parts: dict[str, list[RawColumn]] = {one: [] for one in chosen.features}
    kept: dict[str, list[Any]] = {one: [] for one in (*chosen.ids, *((chosen.label,) if chosen.label else ()))}
    row_count = 0
    for rows in batches:
        row_count += len(rows)
        for one, reading in readings.items():
            number = place[one]
            parts[one].append(read_column([row[number] for row in rows], reading))
        for one, values in kept.items():
            number = place[one]
            values.extend(row[number] for row in rows)
    raw = RawTable(
        name=name,
        columns={one: join_columns(columns) for one, columns in parts.items()},
        row_count=row_count,
        labels=None if chosen.label is None else _labels(kept[chosen.label], options, chosen.label, name),
        ids=make_ids({one: kept[one] for one in chosen.ids}, name) if chosen.ids else None,
    )
    return read_date_texts(raw, chosen.dates, options.date_format)


def join_columns(parts: Sequence[RawColumn]) -> RawColumn:
    """One column of several parts: texts where one part holds texts."""
    if not parts:
        return np.empty(0)
    if not any(isinstance(part, TextColumn) for part in parts):
        return np.concatenate([part for part in parts if not isinstance(part, TextColumn)])
    known: dict[str, int] = {}
    codes = []
    for part in parts:
        texts = part if isinstance(part, TextColumn) else _as_texts(part)
        lookup = np.array([*(known.setdefault(text, len(known)) for text in texts.texts), -1], dtype=np.int64)
        codes.append(lookup[texts.codes])
    return TextColumn(np.concatenate(codes), tuple(known))


def _as_texts(values: npt.NDArray[np.float64]) -> TextColumn:
    distinct, codes = np.unique(values, return_inverse=True)
    codes = np.where(np.isnan(values), -1, codes.reshape(-1))
    return TextColumn(codes, tuple(text_of(value) for value in distinct.tolist() if value == value))


def _labels(values: list[Any], options: NamedColumns, label: str, name: str) -> npt.NDArray[Any]:
    stripped = [strip_text(value, options.missing) if isinstance(value, str) else value for value in values]
    empty = [row for row, value in enumerate(stripped, start=1) if value is None or value != value]
    if empty:
        raise InputError(
            f"{name}: column {label!r} has rows without a label",
            expected="one label in every row",
            got=f"none in {len(empty):,} rows, first in row {empty[0]}",
            cure="fill them in or remove those rows",
        )
    if any(isinstance(value, str) for value in stripped):
        return np.array([str(value) for value in stripped], dtype=np.str_)
    column = read_column(stripped, ColumnReading(f"{name}: column {label!r}"))
    assert not isinstance(column, TextColumn)  # no text is among them
    return column
