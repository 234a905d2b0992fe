"""Points and commas that may stand between thousands are told of, however the file is read; other numbers are not."""

from __future__ import annotations

from pathlib import Path

import pytest

from hekat.data import CsvDialect, load_csv

PLACES = ["", '"']  # cells in quotes are read a row at a time, others in whole blocks


def notes(folder: Path, cells: list[str], quote: str = "", *, dialect: CsvDialect | None = None) -> list[str]:
    """What loading says of a column `a` of these cells beside a column of fractions."""
    dialect = dialect or CsvDialect()
    path = folder / "data.csv"
    rows = [dialect.separator.join([f"{quote}{cell}{quote}", f"0{dialect.decimal}5"]) for cell in cells]
    path.write_text("\n".join([f"a{dialect.separator}b", *rows]) + "\n")
    return [note for note in load_csv(path, dialect=dialect).notes if "thousands" in note]


@pytest.mark.parametrize("quote", PLACES)
def test_points_between_thousands_are_told_of_by_column(quote: str, tmp_path: Path) -> None:
    (note,) = notes(tmp_path, ["850", "1.234", "-12.000", " 7 ", "+999"], quote)
    assert note.startswith("column 'a': look for points between thousands: numbers such as 1.234")
    assert "850" not in note


@pytest.mark.parametrize("quote", PLACES)
def test_commas_between_thousands_too(quote: str, tmp_path: Path) -> None:
    dialect = CsvDialect(separator=";", decimal=",")
    (note,) = notes(tmp_path, ["850", "1,234"], quote, dialect=dialect)
    assert "look for commas between thousands" in note


@pytest.mark.parametrize("quote", PLACES)
@pytest.mark.parametrize(
    "cells",
    [
        ["850", "1.23"],  # other digits after the point
        ["850", "1.2345"],
        ["1850", "1.234"],  # a number above 1,000 without a point
        ["850", "0.234"],
        ["850", "1e2", "1.234"],
        ["1.234", "2.345"],  # none without a point
        ["850", "12", "7"],  # none with one
        ["850", "1234.567", "1.234"],
    ],
)
def test_other_numbers_are_as_they_are(cells: list[str], quote: str, tmp_path: Path) -> None:
    assert notes(tmp_path, cells, quote) == []
    # The number that tells may come first or last.
    assert notes(tmp_path, cells[::-1], quote) == []


@pytest.mark.parametrize("quote", PLACES)
def test_marks_of_gaps_are_no_numbers(quote: str, tmp_path: Path) -> None:
    from hekat.data import ColumnSpec, ColumnSpecs

    path = tmp_path / "data.csv"
    path.write_text("\n".join(["a,b", *(f"{quote}{cell}{quote},0.5" for cell in ("-9999", "850", "1.234"))]) + "\n")
    columns = ColumnSpecs((ColumnSpec("a", fill=0.0),))
    table = load_csv(path, dialect=CsvDialect(missing=("-9999",)), columns=columns)
    assert any("look for points between thousands" in note for note in table.notes)


def test_labels_that_are_numbers_are_looked_at(tmp_path: Path) -> None:
    path = tmp_path / "data.csv"
    path.write_text("a,y\n0.5,850\n0.25,1.234\n")
    (note,) = load_csv(path, label="y").notes
    assert note.startswith("column 'y': look for points between thousands")
    path.write_text("a,y\n0.5,850\n0.25,1.25\n")
    assert load_csv(path, label="y").notes == ()
