"""Takes a data frame of pandas, polars or another library that narwhals knows as columns, or as a table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from hekat.data.columns.choose import choose_id_columns
from hekat.data.columns.encode import encode_columns
from hekat.data.columns.specs import ColumnSpecs
from hekat.data.ids import Ids, make_ids
from hekat.data.raw_table import RawColumn, RawTable
from hekat.data.sources.date_texts import read_date_texts
from hekat.data.sources.named_columns import NamedColumns
from hekat.data.sources.object_columns import (
    MAX_WHOLE,
    ColumnReading,
    read_column,
    refuse_dates,
    refuse_large_whole,
)
from hekat.data.table import Table
from hekat.errors import InputError

_NANOSECONDS_PER_DAY = 86_400_000_000_000


@dataclass(frozen=True, eq=False, repr=False)
class FrameColumns:
    """A data frame column by column.

    Attributes:
        columns: By name, in the frame's order: float64 (rows,), NaN for a gap, or a TextColumn.
        row_count: How many rows there are.
        index: The labels of the rows (rows,) where the frame has an index other than 0, 1, 2, ...; None otherwise.

    Examples:
        >>> import pyarrow
        >>> from hekat.data import read_dataframe
        >>> read_dataframe(pyarrow.table({"age": [61, 40]}), "clinic").names
        ('age',)
    """

    columns: Mapping[str, RawColumn]
    row_count: int
    index: npt.NDArray[Any] | None = None

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the columns."""
        return tuple(self.columns)


def is_dataframe(value: Any) -> bool:
    """Whether a value is a data frame that Hekat takes.

    Args:
        value: Anything.

    Returns:
        True for frames of pandas, polars, PyArrow and others that narwhals knows, lazy ones too.

    Examples:
        >>> from hekat.data import is_dataframe
        >>> is_dataframe([[61.0]])
        False
    """
    import narwhals as nw

    return bool(nw.dependencies.is_into_dataframe(value)) or isinstance(
        nw.from_native(value, pass_through=True), nw.LazyFrame
    )


def read_dataframe(
    frame: Any, name: str, *, only: Sequence[str] | None = None, dates: Sequence[str] = ()
) -> FrameColumns:
    """Read the columns of a data frame as numbers and texts.

    Args:
        frame: A frame of pandas, polars, PyArrow or another library that narwhals knows.
        name: What errors call it.
        only: The columns to read; None for all.
        dates: Columns of dates, which become days since 1970-01-01.

    Returns:
        The columns; null, NaN, None and NaT are gaps.

    Raises:
        InputError: It is no such frame, two columns share a name, or a column cannot be read; the message has the
            column and never a value.

    Examples:
        >>> import pyarrow
        >>> from hekat.data import read_dataframe
        >>> read = read_dataframe(pyarrow.table({"age": [61, None], "town": ["Ulm", "Bonn"]}), "clinic")
        >>> read.names, read.columns["age"], read.columns["town"].texts
        (('age', 'town'), array([61., nan]), ('Ulm', 'Bonn'))
    """
    named = _series_by_name(frame, name)
    wanted = tuple(named) if only is None else only
    columns = {one: _read(named[one], ColumnReading(f"{name}: column {one!r}", is_date=one in dates)) for one in wanted}
    return FrameColumns(columns, len(frame), _index_of(frame))


def table_from_dataframe(
    frame: Any,
    *,
    label: str | None = None,
    id: str | Sequence[str] | None = None,
    ignore: Sequence[str] = (),
    dates: Sequence[str] = (),
    columns: ColumnSpecs | None = None,
    sparse: bool = False,
    digest_rows: bool = False,
    name: str = "table",
) -> Table:
    """Make a table of a data frame.

    Args:
        frame: A frame of pandas, polars, PyArrow or another library that narwhals knows.
        label: The column of labels; None for a table without.
        id: The column or columns of ids.
        ignore: Columns to leave out.
        dates: Columns of dates, which become days since 1970-01-01.
        columns: How columns become features; columns that it does not describe hold numbers.
        sparse: Hold the rows as a scipy.sparse.csr_array.
        digest_rows: Keep a digest of the rows.
        name: What errors call the table.

    Returns:
        The table; all other columns are features. An index is no feature and is left out.

    Raises:
        InputError: The frame cannot be read so; the message has column and row, never a value.

    Examples:
        >>> import pyarrow
        >>> from hekat.data import table_from_dataframe
        >>> table_from_dataframe(pyarrow.table({"age": [61, 40], "sick": ["yes", "no"]}), label="sick").labels
        array(['yes', 'no'], dtype='<U3')
    """
    given = NamedColumns(label, id, tuple(ignore), dates=tuple(dates))
    return load_dataframe(frame, given, columns=columns, sparse=sparse, digest_rows=digest_rows, name=name)


def load_dataframe(
    frame: Any,
    options: NamedColumns,
    *,
    columns: ColumnSpecs | None = None,
    sparse: bool = False,
    digest_rows: bool = False,
    name: str = "table",
) -> Table:
    """The table of a data frame under all options of a site file. Raises InputError as `table_from_dataframe`."""
    named = _series_by_name(frame, name)
    chosen = options.choose(name, tuple(named))
    readings = {
        one: ColumnReading(f"{name}: column {one!r}", options.missing, one in chosen.dates) for one in chosen.features
    }
    raw = RawTable(
        name=name,
        columns={one: _read(named[one], reading) for one, reading in readings.items()},
        row_count=len(frame),
        labels=None if chosen.label is None else _labels(named[chosen.label], f"{name}: column {chosen.label!r}"),
        ids=_ids({one: named[one] for one in chosen.ids}, name) if chosen.ids else None,
    )
    raw = read_date_texts(raw, chosen.dates, options.date_format)
    return encode_columns(raw, ColumnSpecs() if columns is None else columns, sparse=sparse, digest_rows=digest_rows)


def dataframe_ids(frame: Any, id: str | Sequence[str] | None, name: str) -> Ids | None:
    """The columns of ids alone, None where none is named. Raises InputError as `table_from_dataframe`."""
    named = _series_by_name(frame, name)
    names = choose_id_columns(name, tuple(named), id).ids if id else ()
    return _ids({one: named[one] for one in names}, name) if names else None


def _series_by_name(frame: Any, name: str) -> dict[str, Any]:
    import narwhals as nw

    if not nw.dependencies.is_into_dataframe(frame):
        is_lazy = isinstance(nw.from_native(frame, pass_through=True), nw.LazyFrame)
        raise InputError(
            f"{name} is no data frame",
            expected="a data frame of pandas, polars or PyArrow",
            got="a lazy frame" if is_lazy else type(frame).__name__,
            cure="call .collect() first" if is_lazy else "give a frame, an array, or a hekat.data.Table",
        )
    try:
        read = nw.from_native(frame, eager_only=True)
        series = {str(column): read.get_column(column) for column in read.columns}
    except Exception as error:  # each library has its own errors for names that repeat
        raise InputError(
            f"the columns of {name} cannot be read",
            expected="a name of its own for each column",
            got=type(error).__name__,
            cure="rename columns that share a name",
        ) from None
    if len(series) != len(read.columns):
        raise InputError(f"two columns of {name} have the same name", expected="distinct names", got="1 and '1'")
    return series


def _read(series: Any, reading: ColumnReading) -> RawColumn:
    import narwhals as nw

    kind = series.dtype
    if kind in (nw.Date, nw.Datetime):
        if not reading.is_date:
            refuse_dates(reading.what)
        return _days(series)
    if kind.is_numeric() or kind == nw.Boolean:
        if kind.is_integer() and not series.is_null().all() and max(-int(series.min()), int(series.max())) > MAX_WHOLE:
            refuse_large_whole(reading.what)
        return np.array(series.cast(nw.Float64).to_numpy(), dtype=np.float64)
    if kind in (nw.Categorical, nw.Enum):
        series = series.cast(nw.String)
    return read_column(_objects(series), reading)


def _days(series: Any) -> npt.NDArray[np.float64]:
    import narwhals as nw

    stamps = series.cast(nw.Datetime("ns")) if series.dtype == nw.Date else series
    if getattr(stamps.dtype, "time_zone", None):
        stamps = stamps.dt.convert_time_zone("UTC").dt.replace_time_zone(None)
    moments = stamps.cast(nw.Datetime("ns")).to_numpy().astype("datetime64[ns]")
    days = moments.astype(np.int64) / _NANOSECONDS_PER_DAY
    return np.where(np.isnat(moments), np.nan, days)


def _objects(series: Any) -> list[Any]:
    """The values as Python objects; None for each gap, also for the NaN that pandas has among texts."""
    return [None if value is None or value != value else value for value in series.to_list()]


def _labels(series: Any, what: str) -> npt.NDArray[Any]:
    import narwhals as nw

    _check_no_gaps(series, what, "label")
    if series.dtype.is_numeric() or series.dtype == nw.Boolean:
        return np.asarray(series.to_numpy())
    return np.array([str(value).strip() for value in series.to_list()], dtype=np.str_)


def _ids(series: Mapping[str, Any], name: str) -> Ids:
    import narwhals as nw

    values = {}
    for one, column in series.items():
        _check_no_gaps(column, f"{name}: column {one!r}", "id")
        whole = column.dtype.is_integer()
        values[one] = (
            column.to_numpy()
            if whole
            else [
                value.date() if column.dtype == nw.Datetime and hasattr(value, "date") else value
                for value in column.to_list()
            ]
        )
    return make_ids(values, name)


def _check_no_gaps(series: Any, what: str, role: str) -> None:
    empty = [number for number, value in enumerate(_objects(series), start=1) if value is None]
    if empty:
        raise InputError(
            f"{what} has rows without {'an' if role == 'id' else 'a'} {role}",
            expected=f"one {role} in every row",
            got=f"none in {len(empty):,} rows, first in row {empty[0]}",
            cure="fill them in or remove those rows",
        )


def _index_of(frame: Any) -> npt.NDArray[Any] | None:
    index = getattr(frame, "index", None)
    if index is None or not hasattr(index, "equals"):  # other libraries than pandas have none
        return None
    labels = np.asarray(index.to_numpy())
    return None if labels.dtype.kind in "iu" and np.array_equal(labels, np.arange(len(labels))) else labels
