"""Whole files are read, however they are written, and what a column holds is counted right in batches of any size."""

from __future__ import annotations

import numpy as np
import pytest

from hekat.data.profile import table_profile
from hekat.data.profile.cell_kinds import read_cell
from hekat.data.profile.column_profile import MOST_DISTINCT, ColumnProfile, merge_columns
from hekat.data.profile.table_profile import profile_csv
from hekat.errors import InputError


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("", "empty"), ("NA", "empty"), ("?", "empty"), ("NULL", "empty"), ("nan", "empty"),
        ("12", "number"), ("-1e-3", "number"), ("3,5", "number"), (",5", "number"), ("+2", "number"),
        ("inf", "text"), ("1_000", "text"), ("1.234,5", "text"), ("a", "text"), ("1,2,3", "text"),
        ("2024-02-29", "date"), ("1.2.2024", "date"), ("02/29/2024", "date"), ("2024-02-29T10:00:00Z", "date"),
        ("2024-02-29 10:00:00.25+01:00", "date"), ("2024-02", "text"),
    ],
)  # fmt: skip
def test_a_cell_is_of_one_kind(text, kind) -> None:
    assert read_cell(text).kind == kind


@pytest.mark.parametrize(
    ("cells", "formats"),
    [
        (["2024-02-29", "2024-03-01T10:00"], {"ISO 8601"}),
        (["2024-2-9", "2024-3-1"], {"%Y-%m-%d"}),
        (["01.02.2024", "31.12.2023"], {"%d.%m.%Y"}),
        (["01/02/2024", "03/04/2024"], {"%d/%m/%Y", "%m/%d/%Y"}),
        (["01/02/2024", "", "31/04/2024", "30/04/2024"], set()),
        (["01/02/2024", "13/04/2024"], {"%d/%m/%Y"}),
        (["01/02/2024", "04/13/2024"], {"%m/%d/%Y"}),
        (["01.02.2024 10:00"], {"%d.%m.%Y %H:%M"}),
        (["01.02.2024 10:00", "01.02.2024"], set()),
    ],
)
def test_a_column_of_dates_has_the_formats_that_all_fit(cells, formats) -> None:
    assert profile_of(cells).formats == formats


def profile_of(cells: list[str], batch: int = 3) -> ColumnProfile:
    column = ColumnProfile("x")
    for start in range(0, len(cells), batch):
        part = cells[start : start + batch]
        column.add_cells(part, range(start + 2, start + 2 + len(part)))
    return column


@pytest.mark.parametrize("batch", [1, 2, 3, 100])
def test_facts_do_not_hang_on_the_batches(batch) -> None:
    column = profile_of(["1", "2.5", "", " 4 ", "NA", "-3", "low", "", "low", "2.50"], batch)
    assert (column.rows, column.empty, column.numbers, column.texts) == (10, 3, 5, 2)
    assert (column.low, column.high) == (-3.0, 4.0)
    assert (column.first_empty, column.first_text) == (4, 8)
    assert (column.points, column.commas, column.is_whole, column.is_unique) == (2, 0, False, False)
    assert dict(column.odd) == {"low": 2}


def test_numbers_with_gaps_are_counted_as_the_same_numbers_one_by_one() -> None:
    rng = np.random.default_rng(7)
    cells = [f"{value:.4f}" if rng.random() > 0.2 else "" for value in rng.normal(size=500)]
    quick, slow = profile_of(cells, 100), profile_of([f" {cell}" for cell in cells], 1)
    held = [float(cell) for cell in cells if cell]
    for column in (quick, slow):
        assert (column.numbers, column.empty) == (len(held), 500 - len(held))
        assert (column.low, column.high) == (min(held), max(held))


def test_more_different_cells_than_a_vocabulary_are_no_longer_counted() -> None:
    column = profile_of([f"text {number}" for number in range(MOST_DISTINCT + 1)], 1000)
    assert column.counts is None
    assert column.is_unique
    column.add_cells(["text 5"], [1])
    assert not column.is_unique


def test_columns_of_several_files_are_one() -> None:
    merged = merge_columns([profile_of(["1", "2"]), profile_of(["", "b"]), profile_of(["b"])])
    assert (merged.rows, merged.numbers, merged.texts, merged.empty) == (5, 2, 2, 1)
    assert merged.counts == {"1": 1, "2": 1, "b": 2}
    assert merged.first_text == 3


ROWS = [["Ünal", "3,5", "1"], ["Köln; Süd", "-2,25", "2"], ["", "", "3"]]


def write(path, separator: str, encoding: str, decimal: str = ",") -> None:
    lines = [["town", "dose", "day"], *ROWS]
    text = "".join(
        separator.join(f'"{cell}"' if separator in cell else cell for cell in line) + "\r\n" for line in lines
    )
    path.write_bytes((text if decimal == "," else text.replace("3,5", "3.5")).encode(encoding))


@pytest.mark.parametrize("separator", [",", ";", "\t", "|"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "cp1252", "utf-16"])
def test_a_file_is_read_however_it_is_written(separator, encoding, tmp_path) -> None:
    write(tmp_path / "a.csv", separator, encoding)
    found = profile_csv(tmp_path / "a.csv")
    assert (found.dialect.separator, found.dialect.decimal) == (separator, ",")
    assert found.dialect.encoding == encoding.removesuffix("-sig")
    assert found.rows == 3
    assert found.columns["town"].counts == {"Ünal": 1, "Köln; Süd": 1}
    assert (found.columns["dose"].numbers, found.columns["dose"].low, found.columns["dose"].high) == (2, -2.25, 3.5)


def test_all_rows_are_read_not_the_first_thousand(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(table_profile, "BATCH_ROWS", 100)
    heard = []
    (tmp_path / "a.csv").write_text("x,y\n" + "1,a\n" * 1500 + "2.5,late\n\n3,a,b\n" + "1,\n")
    found = profile_csv(tmp_path / "a.csv", lambda name, rows: heard.append((name, rows)))
    assert (found.rows, found.ragged, found.first_ragged) == (1502, 1, 1504)
    assert found.columns["y"].counts == {"a": 1500, "late": 1}
    assert found.columns["y"].first_empty == 1505
    assert not found.columns["x"].is_whole
    assert heard[0] == ("a.csv", 100)
    assert heard[-1] == ("a.csv", 1502)


@pytest.mark.parametrize(
    ("content", "words"),
    [("x,y\n", "no rows"), ("1,2\n3,4\n", "no header"), ("x,y\n1\n2\n", "none of them"), ("", "is empty")],
)
def test_what_is_no_table_is_refused(content, words, tmp_path) -> None:
    (tmp_path / "a.csv").write_text(content)
    with pytest.raises(InputError, match=words):
        profile_csv(tmp_path / "a.csv")
