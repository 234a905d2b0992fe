"""Reads a table from a Parquet file (extra hekat[parquet]): columns of numbers, truth values, texts and dates."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from hekat.data.columns.choose import check_names_differ, choose_id_columns
from hekat.data.columns.encode import encode_columns
from hekat.data.columns.specs import ColumnSpecs
from hekat.data.ids import Ids, make_ids
from hekat.data.raw_table import RawColumn, RawTable, TextColumn
from hekat.data.sources.date_texts import read_date_texts
from hekat.data.sources.named_columns import NamedColumns
from hekat.data.sources.object_columns import MAX_WHOLE, refuse_dates, refuse_large_whole
from hekat.data.sources.object_rows import BATCH_ROWS
from hekat.data.sources.source_file import readable_file
from hekat.data.table import Table
from hekat.errors import InputError, missing_extra

_MICROSECONDS_PER_DAY = 86_400_000_000


def load_parquet(
    path: Path,
    *,
    label: str | None = None,
    id: str | Sequence[str] | None = None,
    ignore: Sequence[str] = (),
    only: Sequence[str] | None = None,
    dates: Sequence[str] = (),
    date_format: str | None = None,
    columns: ColumnSpecs | None = None,
    sparse: bool = False,
    digest_rows: bool = False,
    name: str | None = None,
) -> Table:
    """Read a table from a Parquet file (extra hekat[parquet]); only the columns that are used are read.

    Args:
        path: The file.
        label: The column of labels; None for a table without.
        id: The column or columns of ids.
        ignore: Columns to leave out, by name or by a pattern with `*`.
        only: The only columns that are features, by name or by a pattern; None for all others.
        dates: Columns of dates, which become days since 1970-01-01.
        date_format: How texts of dates are written, as strptime takes it; None for ISO 8601.
        columns: How columns become features; columns that it does not describe hold numbers.
        sparse: Hold the rows as a scipy.sparse.csr_array.
        digest_rows: Keep a digest of the rows.
        name: What errors call the table; the file's name if None.

    Returns:
        The table; all other columns are features.

    Raises:
        InputError: The file cannot be read so (the message has column and row, never a value), or pyarrow is missing
            (the message has the command that installs it).

    Examples:
        >>> from pathlib import Path
        >>> import pyarrow
        >>> import pyarrow.parquet
        >>> from hekat.data import load_parquet
        >>> pyarrow.parquet.write_table(pyarrow.table({"age": [61, 40], "sick": [1, 0]}), "clinic.parquet")
        >>> load_parquet(Path("clinic.parquet"), label="sick").feature_names
        ('age',)
    """
    arrow = _import_pyarrow()
    options = NamedColumns(label, id, tuple(ignore), None if only is None else tuple(only), tuple(dates))
    with _opened(path, arrow) as file:
        chosen = options.choose(path, file.schema_arrow.names)
        wanted = [one for one in (*chosen.features, chosen.label, *chosen.ids) if one is not None]
        read = file.read(columns=wanted)
    reader = _Reader(path, arrow, chosen.dates)
    name = name or str(path)
    raw = RawTable(
        name=name,
        columns={one: reader.feature(one, read.column(one)) for one in chosen.features},
        row_count=read.num_rows,
        labels=None if label is None else reader.labels(label, read.column(label)),
        ids=reader.ids(chosen.ids, read, name) if chosen.ids else None,
    )
    raw = read_date_texts(raw, chosen.dates, date_format)
    return encode_columns(raw, ColumnSpecs() if columns is None else columns, sparse=sparse, digest_rows=digest_rows)


def load_parquet_ids(path: Path, *, id: str | Sequence[str], name: str | None = None) -> Ids:
    """The columns of ids in `path`; no other column is read. Raises InputError as `load_parquet`."""
    arrow = _import_pyarrow()
    with _opened(path, arrow) as file:
        chosen = choose_id_columns(path, file.schema_arrow.names, id)
        read = file.read(columns=list(chosen.ids))
    return _Reader(path, arrow).ids(chosen.ids, read, name or str(path))


def parquet_column_names(path: Path) -> tuple[str, ...]:
    """The names of all columns of the file at `path`. Raises InputError."""
    with _opened(path, _import_pyarrow()) as file:
        return tuple(file.schema_arrow.names)


@contextmanager
def opened_parquet(path: Path) -> Iterator[tuple[tuple[str, ...], Iterator[Sequence[Sequence[Any]]]]]:
    """The names of the columns, and the rows as Python values in batches. Raises InputError, inside the block too."""
    with _opened(path, _import_pyarrow()) as file:
        batches = file.iter_batches(batch_size=BATCH_ROWS)
        rows = (list(zip(*(column.to_pylist() for column in batch.columns), strict=True)) for batch in batches)
        yield tuple(file.schema_arrow.names), rows


@contextmanager
def _opened(path: Path, arrow: Any) -> Iterator[Any]:
    with readable_file(path):
        try:
            with arrow.ParquetFile(path) as file:
                names = file.schema_arrow.names
                check_names_differ(path, names, place="", empty="an empty name", cure="write the file again")
                yield file
        except arrow.Error as error:
            raise _not_parquet(path, type(error).__name__) from None


class _Arrow:
    """The parts of pyarrow that are used here."""

    def __init__(self) -> None:
        import pyarrow
        import pyarrow.compute
        import pyarrow.parquet

        self.types = pyarrow.types
        self.compute = pyarrow.compute
        self.ParquetFile = pyarrow.parquet.ParquetFile
        self.Error = pyarrow.ArrowException
        self.float64 = pyarrow.float64()
        self.microseconds = pyarrow.timestamp("us")


def _import_pyarrow() -> _Arrow:
    try:
        return _Arrow()
    except ImportError as error:
        raise missing_extra("Parquet files need pyarrow", "parquet", error) from None


class _Reader:
    """Turns columns of Arrow into raw columns, labels and ids."""

    def __init__(self, path: Path, arrow: _Arrow, dates: Sequence[str] = ()) -> None:
        self._path, self._arrow, self._dates = path, arrow, dates

    def feature(self, name: str, column: Any) -> RawColumn:
        """Numbers and truth values as float64 with NaN for null, texts as codes, dates as days since 1970-01-01."""
        if self._arrow.types.is_date(column.type) or self._arrow.types.is_timestamp(column.type):
            return self._days(name, column)
        if self._is_text(column.type):
            coded = self._dictionary(column)
            codes = coded.indices.fill_null(-1).to_numpy(zero_copy_only=False).astype(np.int64)
            texts = [None if text is None else text.strip() for text in coded.dictionary.to_pylist()]
            empty = [number for number, text in enumerate(texts) if not text]
            if empty:
                codes = np.where(np.isin(codes, empty), -1, codes)
            return TextColumn(codes, tuple(text or "" for text in texts))
        return self._numbers(name, column)

    def _days(self, name: str, column: Any) -> npt.NDArray[np.float64]:
        if name not in self._dates:
            refuse_dates(f"{self._path}: column {name!r}")
        stamps = column.cast(self._arrow.microseconds)  # of a zone, the moment in UTC
        days = stamps.cast("int64").to_numpy(zero_copy_only=False) / _MICROSECONDS_PER_DAY
        return np.where(stamps.is_null().to_numpy(zero_copy_only=False), np.nan, days)

    def labels(self, name: str, column: Any) -> npt.NDArray[Any]:
        """Texts, or numbers; none may be null."""
        self._check_no_nulls(name, column, "label")
        if self._is_text(column.type):
            return np.array(column.cast("string").to_pylist(), dtype=np.str_)
        return self._numbers(name, column)

    def ids(self, names: Sequence[str], table: Any, owner: str) -> Ids:
        """Texts, whole numbers or dates; none may be null."""
        return make_ids({name: self._id_column(name, table.column(name)) for name in names}, owner)

    def _id_column(self, name: str, column: Any) -> npt.NDArray[Any]:
        self._check_no_nulls(name, column, "id")
        types = self._arrow.types
        if self._is_text(column.type):
            column = column.cast("string")
        elif types.is_date(column.type):
            column = column.cast("date32")
        elif not types.is_integer(column.type):
            self._refuse_type(name, column.type, "texts, whole numbers or dates for an id")
        return np.asarray(column.to_numpy())

    def _numbers(self, name: str, column: Any) -> npt.NDArray[np.float64]:
        types = self._arrow.types
        if types.is_null(column.type):
            return np.full(len(column), np.nan)
        if types.is_integer(column.type):
            self._check_whole(name, column)
        elif not (types.is_floating(column.type) or types.is_boolean(column.type) or types.is_decimal(column.type)):
            self._refuse_type(name, column.type, "numbers, truth values or texts")
        if types.is_boolean(column.type):
            column = column.cast("uint8")
        return np.asarray(column.cast(self._arrow.float64).to_numpy(zero_copy_only=False), dtype=np.float64)

    def _check_whole(self, name: str, column: Any) -> None:
        extremes = self._arrow.compute.min_max(column).as_py()
        if any(value is not None and abs(value) > MAX_WHOLE for value in extremes.values()):
            refuse_large_whole(f"{self._path}: column {name!r}")

    def _check_no_nulls(self, name: str, column: Any, role: str) -> None:
        if column.null_count:
            row = self._arrow.compute.index(column.is_null(), True).as_py()
            raise InputError(
                f"{self._path}: column {name!r} has rows without {'an' if role == 'id' else 'a'} {role}",
                expected=f"one {role} in every row",
                got=f"none in {column.null_count:,} rows, first in row {row + 1}",
                cure="fill them in or remove those rows",
            )

    def _is_text(self, kind: Any) -> bool:
        types = self._arrow.types
        if types.is_dictionary(kind):
            return self._is_text(kind.value_type)
        return bool(types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind))

    def _dictionary(self, column: Any) -> Any:
        coded = column if self._arrow.types.is_dictionary(column.type) else column.dictionary_encode()
        return coded.combine_chunks() if coded.num_chunks == 1 else coded.unify_dictionaries().combine_chunks()

    def _refuse_type(self, name: str, kind: Any, expected: str) -> None:
        raise InputError(
            f"{self._path}: column {name!r} is of a type that cannot be used",
            expected=expected,
            got=str(kind)[:60],
            cure="convert it, or name the column under ignore in the site file",
        )


def _not_parquet(path: Path, got: str) -> InputError:
    return InputError(
        f"{path} cannot be read as Parquet",
        expected="a whole Parquet file",
        got=got,
        cure="check the path, or write the file again",
    )
