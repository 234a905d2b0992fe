"""Reads a table from a CSV file: a header of column names, then one row of cells for each record."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from io import TextIOWrapper
from pathlib import Path
from typing import NamedTuple, TextIO

from hekat.data.columns.choose import ChosenColumns, check_names_differ, choose_id_columns
from hekat.data.columns.encode import encode_columns
from hekat.data.columns.specs import ColumnSpecs
from hekat.data.ids import Ids
from hekat.data.raw_table import RawTable
from hekat.data.sources.csv_blocks import PlainBlocks
from hekat.data.sources.csv_dialect import CsvDialect
from hekat.data.sources.csv_rows import CsvRows
from hekat.data.sources.date_texts import read_date_texts
from hekat.data.sources.named_columns import NamedColumns
from hekat.data.sources.source_file import readable_file
from hekat.data.table import Table
from hekat.data.thousands import note_on_thousands
from hekat.errors import InputError

# What pandas and R call the first column, whose name they leave out.
INDEX = "index"


class OpenedCsv(NamedTuple):
    """The names in the header of a CSV file, and its records, (last line, cells), that are not blank. `unnamed` columns
    at the end, which a separator after the last name makes, are in neither: each of their cells is empty. The header
    ends in line `header_line`."""

    names: list[str]
    records: Iterator[tuple[int, list[str]]]
    unnamed: int
    header_line: int


def load_csv(
    path: Path,
    *,
    label: str | None = None,
    id: str | Sequence[str] | None = None,
    ignore: Sequence[str] = (),
    only: Sequence[str] | None = None,
    dates: Sequence[str] = (),
    date_format: str | None = None,
    dialect: CsvDialect | None = None,
    columns: ColumnSpecs | None = None,
    sparse: bool = False,
    digest_rows: bool = False,
    name: str | None = None,
) -> Table:
    """Read a table from a CSV file: a header of column names, then a row of cells for each record.

    Blank lines are passed over. A first column without a name is called "index", as pandas and R write theirs; columns
    without a name at the end are left out where they are empty. Labels and ids stay texts as they stand there.

    Args:
        path: The file.
        label: The column of labels; None for a table without.
        id: The column or columns of ids.
        ignore: Columns to leave out, by name or by a pattern with `*`.
        only: The only columns that are features, by name or by a pattern; None for all others.
        dates: Columns of dates, which become days since 1970-01-01.
        date_format: How they are written, as strptime takes it; None for ISO 8601.
        dialect: How the file is written.
        columns: How columns become features; columns that it does not describe hold numbers.
        sparse: Hold the rows as a scipy.sparse.csr_array.
        digest_rows: Keep a digest of the rows.
        name: What errors call the table; the file's name if None.

    Returns:
        The table; all other columns are features.

    Raises:
        InputError: The file cannot be read so; the message has line and column, never a cell.

    Examples:
        >>> from pathlib import Path
        >>> from hekat.data import load_csv
        >>> _ = Path("clinic.csv").write_text("age,weight,sick\\n61,80.5,yes\\n40,72,no\\n")
        >>> table = load_csv(Path("clinic.csv"), label="sick")
        >>> table.features
        array([[61. , 80.5],
               [40. , 72. ]])
    """
    dialect, columns, name = dialect or CsvDialect(), ColumnSpecs() if columns is None else columns, name or str(path)
    options = NamedColumns(label, id, tuple(ignore), None if only is None else tuple(only), tuple(dates))

    def choose(names: Sequence[str]) -> ChosenColumns:
        return options.choose(path, names)

    raw = _read(path, dialect, choose, columns, name, date_format)
    return encode_columns(raw, columns, sparse=sparse, digest_rows=digest_rows)


def load_csv_ids(
    path: Path, *, id: str | Sequence[str], dialect: CsvDialect | None = None, name: str | None = None
) -> Ids:
    """The columns of ids in `path` alone; its other columns may hold anything. Raises InputError as `load_csv`."""

    def choose(names: Sequence[str]) -> ChosenColumns:
        return choose_id_columns(path, names, id)

    ids = _read(path, dialect or CsvDialect(), choose, ColumnSpecs(), name or str(path)).ids
    assert ids is not None
    return ids


def csv_column_names(path: Path, dialect: CsvDialect | None = None) -> tuple[str, ...]:
    """The names in the header of the file at `path`, all of them. Raises InputError."""
    with opened_csv(path, dialect or CsvDialect()) as opened:
        return tuple(opened.names)


def _read(
    path: Path,
    dialect: CsvDialect,
    choose: Callable[[Sequence[str]], ChosenColumns],
    columns: ColumnSpecs,
    name: str,
    date_format: str | None = None,
) -> RawTable:
    """The columns that `choose` picks among the header's names; what holds a text beside empty cells is texts, and
    dates are days."""
    texts: set[str] = set()
    while True:
        with opened_csv(path, dialect) as opened:
            chosen = choose(opened.names)
            texts |= {feature for feature in chosen.features if _has_categories(columns, feature)}.union(chosen.dates)
            rows = CsvRows(path, dialect, opened.names, chosen, texts)
            rows.add_all(opened.records if opened.unnamed else _add_blocks(rows, opened, path, dialect))
        if not rows.found_texts:
            notes = [say_unnamed(opened.unnamed)] if opened.unnamed else []
            if rows.with_thousands:
                notes.append(note_on_thousands(rows.with_thousands, dialect.decimal))
            return replace(read_date_texts(rows.finish(name), chosen.dates, date_format), notes=tuple(notes))
        # Only texts tell what these columns hold, and numbers are all that was kept of them.
        texts |= rows.found_texts


def _add_blocks(rows: CsvRows, opened: OpenedCsv, path: Path, dialect: CsvDialect) -> Iterator[tuple[int, list[str]]]:
    """Add what can be read in whole blocks; the records that are left."""
    blocks = PlainBlocks(path, dialect, opened.header_line, len(opened.names))
    for block in blocks:
        rows.add_plain(block)
    return _records_after(blocks, path, dialect) if blocks.offset else opened.records


def _has_categories(columns: ColumnSpecs, name: str) -> bool:
    spec = columns.find(name)
    return spec is not None and spec.has_categories


@contextmanager
def opened_csv(path: Path, dialect: CsvDialect) -> Iterator[OpenedCsv]:
    """The file at `path`, its header read. Raises InputError, for its records where they are read."""
    with readable_file(path, dialect.encoding), path.open(encoding=dialect.reading_encoding, newline="") as file:
        records = _records(path, dialect, file)
        header = next(records, None)
        if header is None:
            raise InputError(f"{path} has no header", expected="column names in the first line", got="blank lines")
        names = _names_in(path, dialect, header[1])
        unnamed = len(header[1]) - len(names)
        records = _without_last(path, records, len(names), unnamed) if unnamed else records
        yield OpenedCsv(names, records, unnamed, header[0])


def say_unnamed(count: int) -> str:
    """What becomes of columns at the end that have no name."""
    columns = f"{count} columns" if count > 1 else "one column"
    return f"{columns} at the end without a name, empty in every row: left out"


def _without_last(
    path: Path, records: Iterator[tuple[int, list[str]]], width: int, unnamed: int
) -> Iterator[tuple[int, list[str]]]:
    """The records without their last `unnamed` cells. Raises InputError for a record that has something in them."""
    for line, cells in records:
        if len(cells) != width + unnamed:
            # With as many cells as there are names it would pass, and none can tell which cell it lacks.
            raise InputError(
                f"{path}, line {line} has another number of cells than the header",
                expected=f"{width + unnamed}, the last {unnamed} without a name and empty",
                got=str(len(cells)),
                cure="correct that line, or remove the separators at the end of the header",
            )
        if any(cell.strip() for cell in cells[width:]):
            raise InputError(
                f"{path}, line {line} has a cell in a column without a name",
                expected=f"{width} cells, one for each name in the header, and empty ones after them",
                got="a cell that is not empty after them",
                cure="name that column in the header; ignore in the site file leaves a column out by its name",
            )
        yield line, cells[:width]


def _records_after(blocks: PlainBlocks, path: Path, dialect: CsvDialect) -> Iterator[tuple[int, list[str]]]:
    """The records that the blocks left to read."""
    with path.open("rb") as file:
        file.seek(blocks.offset)
        with TextIOWrapper(file, encoding=dialect.encoding, newline="") as text:
            yield from _records(path, dialect, text, blocks.line)


def _records(path: Path, dialect: CsvDialect, file: TextIO, lines_before: int = 0) -> Iterator[tuple[int, list[str]]]:
    """(last line of the record, its cells) for every record that is not blank."""
    reader = csv.reader(file, delimiter=dialect.separator, strict=True)
    try:
        for cells in reader:
            if cells:
                yield lines_before + reader.line_num, cells
    except csv.Error as error:
        raise InputError(
            f"{path}, line {lines_before + reader.line_num} is not CSV",
            expected=f"cells separated by {dialect.separator_name}, texts with those in double quotes",
            got=str(error),
            cure="correct that line",
        ) from None


def _names_in(path: Path, dialect: CsvDialect, header: list[str]) -> list[str]:
    names = [cell.strip() for cell in header]
    while len(names) > 1 and not names[-1]:
        names.pop()
    if len(names) > 1 and not names[0] and INDEX not in names:
        names[0] = INDEX
    other = dialect.describe_other_separator(names[0]) if len(names) == 1 else ""
    if other:
        raise InputError(
            f"{path} is not separated by {dialect.separator_name}",
            expected=f"{dialect.separator_name} between cells",
            got=CsvDialect(separator=other).separator_name,
            cure=f'say separator = "{other}" in the site file'.replace("\t", "\\t"),
        )
    if all(not dialect.describe_bad_number(name) for name in names):
        raise InputError(
            f"{path} has no header",
            expected="column names in the first line",
            got="numbers",
            cure="put a line of column names on top",
        )
    cure = "give each column a name of its own in the header; ignore in the site file leaves one out by its name"
    check_names_differ(path, names, place=" of the header", empty="an empty cell", cure=cure)
    return names
