"""Sheets of Excel files by name: numbers, texts, gaps and dates; refusals name the row and hold no value."""

from __future__ import annotations

import datetime
import sys
import zipfile
from pathlib import Path

import numpy as np
import pytest

from hekat.data import ColumnSpec, ColumnSpecs, NamedColumns, load_excel, load_ids, load_sql, load_table, named_columns
from hekat.data.sources.sql_source import SqlSource
from hekat.errors import InputError

openpyxl = pytest.importorskip("openpyxl", reason="needs hekat[excel]")
SPECS = ColumnSpecs((ColumnSpec("dose", fill=1.0), ColumnSpec("town", ("Bonn", "Ulm"), fill="Ulm")))
ROWS = [
    ["patient", "age", "dose", "town", "seen", "sick", None],
    [7, 61, 2.5, "Ulm", datetime.datetime(1970, 1, 2, 12), True],
    [None] * 6,
    [8, 40, "", None, datetime.datetime(1969, 12, 31), False],
    [9, 25, " ", " Bonn ", datetime.datetime(2000, 1, 1), True, None],
]


@pytest.fixture
def book(tmp_path) -> Path:
    made = openpyxl.Workbook()
    made.active.title = "notes"
    made.active.append(["nothing to see"])
    sheet = made.create_sheet("visits")
    for row in ROWS:
        sheet.append(row)
    made.save(tmp_path / "a.xlsx")
    return tmp_path / "a.xlsx"


def test_a_sheet_is_read_by_its_name(book) -> None:
    options = {"path": "a.xlsx", "sheet": "visits", "label": "sick", "id": "patient", "dates": ["seen"]}
    table = load_table("excel", options, book.parent, name="clinic", classes=["no", "yes"], columns=SPECS)
    assert table.feature_names == ("age", "dose", "town=Bonn", "town=Ulm", "seen")
    np.testing.assert_array_equal(table.features, [[61, 2.5, 0, 1, 1.5], [40, 1.0, 0, 1, -1], [25, 1.0, 1, 0, 10957]])
    assert table.labels.tolist() == [1, 0, 1]
    assert load_ids("excel", options, book.parent, name="clinic").to_rows() == [("7",), ("8",), ("9",)]
    assert named_columns("excel", options, book.parent) == ("patient", "age", "dose", "town", "seen", "sick")
    assert load_excel(
        book, NamedColumns(only=("n*",)), columns=ColumnSpecs((ColumnSpec("nothing to see", ("x",)),))
    ).name


def saved(folder: Path, rows: list[list[object]]) -> Path:
    made = openpyxl.Workbook()
    for row in rows:
        made.active.append(row)
    made.save(folder / "b.xlsx")
    return folder / "b.xlsx"


SECRET = "Rumpelstilzchen"


@pytest.mark.parametrize(
    ("rows", "options", "words"),
    [
        ([[1, 2], [3, 4]], {}, "no header"),
        ([], {}, "no header"),
        ([["a", "a"], [1, 2]], {}, "repeats a name"),
        ([["a", None, "b"], [1, 2, 3]], {}, "has no name"),
        ([["a"], [1], [1, SECRET]], {}, "row 2 of the data has a value outside"),
        ([["a"], [datetime.datetime(2020, 1, 1)]], {}, "holds dates"),
        ([["a"], [datetime.datetime(2020, 1, 1)], [SECRET]], {"dates": ("a",)}, "first in row 2"),
        ([["a", "b"], [1, None], [2, SECRET]], {"label": "b"}, "without a label"),
        ([["a", "b"], [1, 2]], {"dates": ("c",)}, "no column 'c'"),
    ],
)
def test_a_sheet_that_cannot_be_read_is_refused_without_a_value(rows, options, words, tmp_path) -> None:
    with pytest.raises(InputError) as refused:
        load_excel(saved(tmp_path, rows), NamedColumns(**options))
    assert words in str(refused.value)
    assert SECRET not in str(refused.value)


def test_other_files_and_sheets_are_refused(book, tmp_path) -> None:
    with pytest.raises(InputError, match="one of notes, visits"):
        load_excel(book, sheet="visit")
    (tmp_path / "c.xlsx").write_text("age,ill\n1,2\n")
    with pytest.raises(InputError, match="save the file again"):
        load_excel(tmp_path / "c.xlsx")
    with pytest.raises(InputError, match="is not there"):
        load_excel(tmp_path / "d.xlsx")


@pytest.mark.parametrize(
    "damage",
    [
        lambda sheet: sheet[: len(sheet) // 2],
        lambda sheet: sheet.replace(b"<v>61<", f"<v>{SECRET}<".encode()),
        lambda sheet: b"",
    ],
    ids=["cut off", "a text for a number", "empty"],
)
def test_a_damaged_sheet_is_refused_without_a_value(damage, tmp_path) -> None:
    whole = saved(tmp_path, [["age"], [61]])
    with zipfile.ZipFile(whole) as source, zipfile.ZipFile(tmp_path / "d.xlsx", "w") as target:
        for name in source.namelist():
            data = source.read(name)
            target.writestr(name, damage(data) if "sheet1.xml" in name else data)
    with pytest.raises(InputError, match="save the file again") as refused:
        load_excel(tmp_path / "d.xlsx")
    assert SECRET not in str(refused.value)


@pytest.mark.parametrize(("module", "extra"), [("openpyxl", "excel"), ("sqlalchemy", "sql")])
def test_a_missing_extra_is_told_with_the_command(module, extra, book, monkeypatch) -> None:
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(InputError, match=rf"pip install 'hekat\[{extra}\]'"):
        load_excel(book) if extra == "excel" else load_sql(SqlSource(url="sqlite:///a.db", table="a"))
