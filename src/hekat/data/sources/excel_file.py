"""Reads a table from a sheet of an Excel file (extra hekat[excel]), whose first row names the columns."""

from __future__ import annotations

import itertools
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from xml.etree.ElementTree import ParseError

from hekat.data.columns.choose import check_names_differ, choose_id_columns
from hekat.data.columns.encode import encode_columns
from hekat.data.columns.specs import ColumnSpecs
from hekat.data.ids import Ids, make_ids
from hekat.data.sources.named_columns import NamedColumns
from hekat.data.sources.object_rows import BATCH_ROWS, table_of_rows
from hekat.data.sources.source_file import readable_file
from hekat.data.table import Table
from hekat.errors import InputError, missing_extra


def load_excel(
    path: Path,
    options: NamedColumns | None = None,
    *,
    sheet: str | None = None,
    columns: ColumnSpecs | None = None,
    sparse: bool = False,
    digest_rows: bool = False,
    name: str | None = None,
) -> Table:
    """Read a table from a sheet of an .xlsx file; of formulas the values that Excel saved with them.

    Args:
        path: The file.
        options: The parts of the columns.
        sheet: The name of the sheet; the first one if None.
        columns: How columns become features; columns that it does not describe hold numbers.
        sparse: Hold the rows as a scipy.sparse.csr_array.
        digest_rows: Keep a digest of the rows.
        name: What errors call the table; the file's name if None.

    Returns:
        The table; rows without any value are passed over.

    Raises:
        InputError: The file cannot be read so (the message has column and row, never a value), or openpyxl is missing
            (the message has the command that installs it).

    Examples:
        >>> import openpyxl
        >>> from pathlib import Path
        >>> from hekat.data import NamedColumns, load_excel
        >>> book = openpyxl.Workbook()
        >>> for row in (["age", "sick"], [61, "yes"], [40, "no"]):
        ...     book.active.append(row)
        >>> book.save("visits.xlsx")
        >>> load_excel(Path("visits.xlsx"), NamedColumns(label="sick")).labels
        array(['yes', 'no'], dtype='<U3')
    """
    options, name = options or NamedColumns(), name or str(path)
    with opened_excel(path, sheet) as (names, batches):
        raw = table_of_rows(names, batches, options.choose(path, names), options, name)
    return encode_columns(raw, ColumnSpecs() if columns is None else columns, sparse=sparse, digest_rows=digest_rows)


def load_excel_ids(path: Path, *, id: str | Sequence[str], sheet: str | None = None, name: str | None = None) -> Ids:
    """The columns of ids alone; the others may hold anything. Raises InputError as `load_excel`."""
    with opened_excel(path, sheet) as (names, batches):
        places = {one: names.index(one) for one in choose_id_columns(path, names, id).ids}
        rows = [row for batch in batches for row in batch]
    return make_ids({one: [row[place] for row in rows] for one, place in places.items()}, name or str(path))


def excel_column_names(path: Path, sheet: str | None = None) -> tuple[str, ...]:
    """The names of all columns of the sheet. Raises InputError."""
    with opened_excel(path, sheet) as (names, _):
        return names


@contextmanager
def opened_excel(path: Path, sheet: str | None) -> Iterator[tuple[tuple[str, ...], Iterator[Sequence[Sequence[Any]]]]]:
    """The names of the columns, and the rows in batches of at most 10,000. Raises InputError, inside the block too."""
    openpyxl = _import_openpyxl()
    with readable_file(path):
        try:
            book = openpyxl.load_workbook(path, read_only=True, data_only=True)
        except (*_BROKEN, openpyxl.utils.exceptions.InvalidFileException) as error:
            raise _broken(path, error) from None
        try:
            rows = _rows_of(path, _find_sheet(path, book, sheet))
            filled = (row for row in rows if any(value is not None for value in row))
            names = _names_in(path, next(filled, ()))
            yield names, _batches(path, filled, len(names))
        finally:
            book.close()


def _import_openpyxl() -> Any:
    try:
        import openpyxl
        import openpyxl.utils.exceptions
    except ImportError as error:
        raise missing_extra("Excel files need openpyxl", "excel", error) from None
    return openpyxl


def _find_sheet(path: Path, book: Any, sheet: str | None) -> Any:
    titles = [one.title for one in book.worksheets]
    if sheet is None and titles:
        return book.worksheets[0]
    if sheet not in titles:
        raise InputError(
            f"{path} has no sheet {sheet!r}",
            expected=f"one of {', '.join(titles[:8])}{', ...' if len(titles) > 8 else ''}",
            got=str(sheet),
            cure="correct sheet in the site file",
        )
    return book[sheet]


# What openpyxl lets through of archives and XML that are damaged; its texts may quote a cell.
_BROKEN = (zipfile.BadZipFile, zlib.error, EOFError, ParseError, LookupError, ValueError, TypeError, AttributeError)


def _rows_of(path: Path, sheet: Any) -> Iterator[Sequence[Any]]:
    try:
        yield from sheet.iter_rows(values_only=True)
    except _BROKEN as error:
        raise _broken(path, error) from None


def _broken(path: Path, error: Exception) -> InputError:
    return InputError(
        f"{path} cannot be read as an Excel file",
        expected="a whole .xlsx file",
        got=type(error).__name__,
        cure="check the path, or save the file again as .xlsx",
    )


def _names_in(path: Path, row: Sequence[Any]) -> tuple[str, ...]:
    cells = ["" if value is None else str(value).strip() for value in row]
    while cells and not cells[-1]:
        cells.pop()
    if not cells or all(isinstance(value, int | float) for value in row[: len(cells)]):
        raise InputError(
            f"{path} has no header",
            expected="column names in the first row of the sheet",
            got="numbers" if cells else "an empty sheet",
            cure="put a row of column names on top, or name another sheet in the site file",
        )
    check_names_differ(path, cells, place=" of the header", empty="an empty cell", cure="correct the header")
    return tuple(cells)


def _batches(path: Path, rows: Iterator[Sequence[Any]], width: int) -> Iterator[Sequence[Sequence[Any]]]:
    count = 0
    while batch := list(itertools.islice(rows, BATCH_ROWS)):
        for number, row in enumerate(batch, start=1):
            if any(value is not None for value in row[width:]):
                raise InputError(
                    f"{path}, row {count + number} of the data has a value outside of the named columns",
                    expected=f"at most {width} values, one for each name in the header",
                    got="more",
                    cure="name that column, or remove the value",
                )
        count += len(batch)
        yield [(*row[:width], *([None] * (width - len(row)))) for row in batch]
