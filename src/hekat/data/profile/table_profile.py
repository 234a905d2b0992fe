"""What is known of a source after all its rows have passed by, a batch at a time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypeAlias

from hekat.data.profile.column_profile import ColumnProfile
from hekat.data.profile.csv_form import find_dialect
from hekat.data.sources.csv_dialect import CsvDialect
from hekat.data.sources.csv_file import opened_csv
from hekat.errors import InputError

BATCH_ROWS = 10_000

Progress: TypeAlias = Callable[[str, int], None]
"""Hears the name of a source and how many of its rows are read, after each batch."""


@dataclass(frozen=True)
class TableProfile:
    """The columns of one source. `dialect` is a CSV file's; `ragged` counts rows with another number of cells than the
    header, which no source takes, and `first_ragged` is the line of the first. `unnamed` empty columns at the end,
    which have no name, are left out."""

    name: str
    rows: int
    columns: dict[str, ColumnProfile]
    dialect: CsvDialect = field(default_factory=CsvDialect)
    ragged: int = 0
    first_ragged: int | None = None
    unnamed: int = 0

    @property
    def date_format(self) -> str | None:
        """The format of most columns of dates whose format is clear; None where none is."""
        clear = [next(iter(one.formats)) for one in self.columns.values() if one.formats and len(one.formats) == 1]
        return Counter(clear).most_common(1)[0][0] if clear else None


def profile_csv(path: Path, progress: Progress = lambda name, rows: None) -> TableProfile:
    """Read the whole CSV file at `path`, however it is written, once for its encoding and once for its cells.

    Raises InputError for a file without a header or rows, and for one that is no CSV; names no cell.
    """
    dialect = find_dialect(path)
    with opened_csv(path, dialect) as (names, records, unnamed, _):
        columns = [ColumnProfile(name) for name in names]
        rows, ragged = 0, []
        for lines, cells, odd_lines in _batches(records, len(names)):
            ragged += odd_lines
            rows += len(lines)
            for column, column_cells in zip(columns, zip(*cells, strict=True), strict=False):
                column.add_cells(column_cells, lines)
            progress(path.name, rows)
    if not rows:
        raise InputError(
            f"{path} has no rows",
            expected="a header of column names and a row for each record",
            got=f"{len(ragged)} lines, none of them with as many cells as the header" if ragged else "a header alone",
            cure="give the path of a table with a header",
        )
    profile = TableProfile(path.name, rows, {column.name: column for column in columns}, dialect, len(ragged))
    decimal = find_decimal(profile)
    first_ragged = ragged[0] if ragged else None
    return replace(profile, dialect=replace(dialect, decimal=decimal), first_ragged=first_ragged, unnamed=unnamed)


def profile_rows(
    name: str,
    names: Sequence[str],
    batches: Iterable[Sequence[Sequence[Any]]],
    progress: Progress = lambda name, rows: None,
) -> TableProfile:
    """The profile of rows of Python values, as databases, spreadsheets and Parquet files give them, a batch at a time.

    Places of first cells are numbers of rows. Raises InputError where there are no rows.
    """
    columns, rows = [ColumnProfile(one) for one in names], 0
    for batch in batches:
        lines = range(rows + 1, rows + len(batch) + 1)
        for column, values in zip(columns, zip(*batch, strict=True), strict=False):
            column.add_values(values, lines)
        rows += len(batch)
        progress(name, rows)
    if not rows:
        raise InputError(f"{name} has no rows", expected="at least one row", got="0 rows", cure="name another table")
    return TableProfile(name, rows, {column.name: column for column in columns})


def find_decimal(profile: TableProfile) -> str:
    """The decimal sign that more columns of numbers are written with; the point where there is none."""
    held = [one for one in profile.columns.values() if one.numbers and not one.texts and not one.has_thousands]
    with_comma = sum(column.commas > 0 for column in held)
    return "," if with_comma > sum(column.points > 0 and not column.commas for column in held) else "."


def _batches(
    records: Iterator[tuple[int, list[str]]], width: int
) -> Iterator[tuple[list[int], list[list[str]], list[int]]]:
    """(lines, cells of each row, lines of rows with another number of cells) of the next rows."""
    lines: list[int] = []
    rows: list[list[str]] = []
    ragged: list[int] = []
    for line, cells in records:
        if len(cells) != width:
            ragged.append(line)
            continue
        lines.append(line)
        rows.append(cells)
        if len(rows) == BATCH_ROWS:
            yield lines, rows, ragged
            lines, rows, ragged = [], [], []
    if rows or ragged:
        yield lines, rows, ragged
