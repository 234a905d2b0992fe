"""Columns of dates as texts: what one format reads, and cures for what it does not read that can be taken."""

from __future__ import annotations

import re
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from hekat.data import NamedColumns, load_csv, load_excel, load_parquet, load_sql, table_from_dataframe
from hekat.data.sources.sql_source import SqlSource
from hekat.errors import InputError


def write(folder: Path, *columns: list[str]) -> Path:
    path = folder / "data.csv"
    rows = [",".join([*cells, "1"]) for cells in zip(*columns, strict=True)]
    path.write_text("\n".join([",".join([*"ab"[: len(columns)], "x"]), *rows]) + "\n")
    return path


@pytest.mark.parametrize(
    ("cells", "date_format"),
    [
        (["29.02.2024", "01.03.2024"], "%d.%m.%Y"),
        (["29.02.2024 10:30", "01.03.2024 00:00"], "%d.%m.%Y %H:%M"),
        (["2/29/2024 10:30:00", "3/1/2024 00:00:00"], "%m/%d/%Y %H:%M:%S"),
    ],
)
def test_the_format_that_all_dates_fit_is_offered_and_reads_them(
    cells: list[str], date_format: str, tmp_path: Path
) -> None:
    path = write(tmp_path, cells)
    with pytest.raises(InputError, match=f'say date_format = "{re.escape(date_format)}" in the site file'):
        load_csv(path, dates=("a",))
    assert load_csv(path, dates=("a",), date_format=date_format).feature_names == ("a", "x")


def test_where_day_and_month_are_not_told_apart_both_are_offered(tmp_path: Path) -> None:
    path = write(tmp_path, ["01/02/2024", "03/04/2024"])
    with pytest.raises(InputError, match='say date_format = "%d/%m/%Y" or date_format = "%m/%d/%Y"'):
        load_csv(path, dates=("a",))


def test_a_column_in_two_forms_is_not_cured_by_a_format(tmp_path: Path) -> None:
    path = write(tmp_path, ["29.02.2024", "2024-03-01"])
    for date_format in (None, "%d.%m.%Y"):
        with pytest.raises(InputError, match=r"write all dates of 'a' in one form.*put it under ignore") as caught:
            load_csv(path, dates=("a",), date_format=date_format)
        assert "date_format =" not in str(caught.value)
    assert load_csv(path, ignore=("a",)).feature_names == ("x",)


def test_two_columns_in_two_forms_are_not_cured_by_a_format(tmp_path: Path) -> None:
    path = write(tmp_path, ["29.02.2024", "01.03.2024"], ["2024-03-01", "2024-03-02"])
    with pytest.raises(
        InputError, match="write the dates of 'a', 'b' in one form, or take 'a' off dates and ignore it"
    ):
        load_csv(path, dates=("a", "b"))
    assert load_csv(path, dates=("b",), ignore=("a",)).feature_names == ("b", "x")


def test_a_format_beside_iso_dates_is_to_be_left_out(tmp_path: Path) -> None:
    path = write(tmp_path, ["2024-02-29", "2024-03-01"])
    with pytest.raises(InputError, match="leave date_format out of the site file"):
        load_csv(path, dates=("a",), date_format="%d.%m.%Y")


def read_with_patterns(kind: str, folder: Path):
    """A table of texts in two columns of dates, by a pattern that fits both."""

    columns = {"start_date": ["2024-02-29", "2024-03-01"], "end_date": ["2024-03-01", "2024-03-02"], "x": [1.0, 2.0]}
    given = NamedColumns(dates=("*_date",))
    if kind == "csv":
        path = folder / "data.csv"
        rows = [",".join(map(str, row)) for row in zip(*columns.values(), strict=True)]
        path.write_text("\n".join([",".join(columns), *rows]) + "\n")
        return load_csv(path, dates=("*_date",))
    if kind == "frame":
        pyarrow = pytest.importorskip("pyarrow", reason="needs hekat[parquet]")
        return table_from_dataframe(pyarrow.table(columns), dates=("*_date",))
    if kind == "parquet":
        pyarrow = pytest.importorskip("pyarrow", reason="needs hekat[parquet]")
        parquet = pytest.importorskip("pyarrow.parquet", reason="needs hekat[parquet]")
        parquet.write_table(pyarrow.table(columns), folder / "data.parquet")
        return load_parquet(folder / "data.parquet", dates=("*_date",))
    if kind == "excel":
        book = pytest.importorskip("openpyxl", reason="needs hekat[excel]").Workbook()
        for row in (tuple(columns), *zip(*columns.values(), strict=True)):
            book.active.append(row)
        book.save(folder / "data.xlsx")
        return load_excel(folder / "data.xlsx", given)
    with closing(sqlite3.connect(folder / "data.db")) as database, database:
        database.execute("CREATE TABLE data (start_date TEXT, end_date TEXT, x REAL)")
        database.executemany("INSERT INTO data VALUES (?, ?, ?)", list(zip(*columns.values(), strict=True)))
    return load_sql(SqlSource(url=f"sqlite:///{folder / 'data.db'}", table="data"), given)


@pytest.mark.parametrize("kind", ["csv", "frame", "parquet", "excel", "sql"])
def test_columns_of_dates_are_named_by_a_pattern_too(kind: str, tmp_path: Path) -> None:
    table = read_with_patterns(kind, tmp_path)
    assert table.feature_names == ("start_date", "end_date", "x")
    assert table.features.tolist() == [[19782.0, 19783.0, 1.0], [19783.0, 19784.0, 2.0]]


def test_a_pattern_of_dates_that_no_column_fits_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"has no column '\*_day'"):
        load_csv(write(tmp_path, ["2024-02-29"]), dates=("*_day",))
