"""CSV as it is written elsewhere: separators, decimal signs, encodings, texts for empty cells, ids."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from hekat.data import ColumnSpec, ColumnSpecs, CsvDialect, load_csv
from hekat.errors import InputError

SECRET = "patient-4711"


def write(folder: Path, text: str, encoding: str = "utf-8") -> Path:
    path = folder / "data.csv"
    path.write_bytes(text.encode(encoding))
    return path


@pytest.mark.parametrize("separator", [",", ";", "\t", "|"])
@pytest.mark.parametrize("decimal", [".", ","])
def test_separators_and_decimal_signs(separator: str, decimal: str, tmp_path: Path) -> None:
    rows = [("a", "b", "y"), ("1.5", "-2e-1", "no"), ("3", "0.25", "yes")]
    cells = [[cell if i == 0 else cell.replace(".", decimal) for cell in row] for i, row in enumerate(rows)]
    text = "\n".join(separator.join(f'"{cell}"' for cell in row) for row in cells) + "\n"
    table = load_csv(write(tmp_path, text), label="y", dialect=CsvDialect(separator=separator, decimal=decimal))
    np.testing.assert_array_equal(table.features, [[1.5, -0.2], [3, 0.25]])
    assert table.labels is not None
    assert table.labels.tolist() == ["no", "yes"]


@pytest.mark.parametrize(
    ("cell", "got"),
    [
        ("1.5", "a number with a decimal point"),
        ("1.500,5", "a number with points between thousands"),
        ("v1.5", "a text"),
        ("x", "a text"),
        ("inf", "an infinite value"),
        ("1_0,5", "a text"),
    ],
)
def test_cells_that_are_no_numbers_with_a_decimal_comma(cell: str, got: str, tmp_path: Path) -> None:
    path = write(tmp_path, f"a;b\n1,5;2\n{cell};2\n")
    with pytest.raises(InputError, match=r"column 'a' holds texts; expected .*-0,5.*first in line 3") as caught:
        load_csv(path, dialect=CsvDialect(separator=";", decimal=","))
    assert f"got {got}" in str(caught.value)


def test_a_decimal_comma_names_its_cure(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r'decimal comma in 1 rows.*cure: say decimal = "," in the site file'):
        load_csv(write(tmp_path, "a;b\n1,5;2\n"), dialect=CsvDialect(separator=";"))


@pytest.mark.parametrize("encoding", ["latin-1", "cp1252", "utf-16", "utf-8"])
def test_encodings(encoding: str, tmp_path: Path) -> None:
    path = write(tmp_path, "größe,y\n1,jä\n2,no\n", encoding)
    table = load_csv(path, label="y", dialect=CsvDialect(encoding=encoding))
    assert table.feature_names == ("größe",)
    assert table.labels is not None
    assert table.labels.tolist() == ["jä", "no"]


def test_another_encoding_is_told_with_its_cure(tmp_path: Path) -> None:
    path = write(tmp_path, "größe,y\n1,jä\n", "latin-1")
    with pytest.raises(InputError, match=r'is not UTF-8 text.*encoding = "cp1252"'):
        load_csv(path)
    with pytest.raises(InputError, match="is not UTF-16 text"):
        load_csv(path, dialect=CsvDialect(encoding="utf-16"))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"separator": ":"}, "separator refused; expected ',' or ';'"),
        ({"decimal": ";"}, "decimal refused"),
        ({"encoding": "klingon"}, 'encoding refused.*"latin-1"'),
        ({"encoding": "hex"}, "encoding refused"),
        ({"encoding": "a\0b"}, "encoding refused"),
    ],
)
def test_dialects_that_are_none(changes: dict[str, str], message: str) -> None:
    with pytest.raises(InputError, match=message):
        CsvDialect(**changes)  # type: ignore[arg-type]


def test_texts_that_mean_an_empty_cell(tmp_path: Path) -> None:
    path = write(tmp_path, "a,b,kind\n1, NA ,x\n-999,2,?\n3,4,y\n")
    specs = ColumnSpecs(
        (ColumnSpec("a", fill=7.0), ColumnSpec("b", fill=0.5), ColumnSpec("kind", ("x", "y"), fill="y"))
    )
    table = load_csv(path, dialect=CsvDialect(missing=("NA", "?", "-999")), columns=specs)
    np.testing.assert_array_equal(table.features, [[1, 0.5, 1, 0], [7, 2, 0, 1], [3, 4, 0, 1]])
    assert table.notes == tuple(
        f"1 empty cell of column '{name}' filled as the job says" for name in ("a", "b", "kind")
    )
    with pytest.raises(InputError, match=r"column 'a' has empty cells; .*first in line 3; cure: .*fill = NUMBER, "):
        load_csv(path, ignore=["b", "kind"], dialect=CsvDialect(missing=("-999",)))
    with pytest.raises(InputError, match="line 3 has no label"):
        load_csv(path, label="kind", ignore=["b"], dialect=CsvDialect(missing=("?",)))


def test_ids_are_kept_and_are_no_feature(tmp_path: Path) -> None:
    path = write(tmp_path, f"a,who,y\n1,{SECRET},0\n2, x ,1\n")
    table = load_csv(path, label="y", id="who")
    assert table.ids is not None
    assert table.ids.to_rows() == [(SECRET,), ("x",)]
    assert table.feature_names == ("a",)
    assert SECRET not in repr(table) + repr(table.ids)
    taken = table.take(np.array([1])).ids
    assert taken is not None
    assert taken.to_rows() == [("x",)]


@pytest.mark.parametrize(
    ("name", "cells", "is_noted"),
    [
        ("id", "12", True),
        ("Patient ID", "12", True),
        ("row_index", "12", True),
        ("id", "11", False),
        ("humid", "12", False),
    ],
)
def test_ids_that_are_trained_on_are_noted(name: str, cells: str, is_noted: bool, tmp_path: Path) -> None:
    table = load_csv(write(tmp_path, f"{name},a\n{cells[0]},0.5\n{cells[1]},0.5\n"))
    assert table.notes == (
        (f"column {name!r} is trained on, though it looks like the ids of records: if so, say id in the site file",)
        if is_noted
        else ()
    )


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (f"1,{SECRET},0\n2,{SECRET},1\n3,x,1\n", "ids that repeat; .*got 1 rows with an id that an earlier row has"),
        (f"1,{SECRET},0\n2,,1\n", "line 3 has no id; expected an id in every row"),
    ],
)
def test_ids_that_are_refused(rows: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=message) as caught:
        load_csv(write(tmp_path, "a,who,y\n" + rows), label="y", id="who")
    assert SECRET not in str(caught.value)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"id": "whom"}, "id = 'whom'; cure: did you mean 'who'"),
        ({"id": "y", "label": "y"}, "both label and id"),
        ({"id": "who", "ignore": ["who"]}, "both id and ignore"),
    ],
)
def test_options_that_do_not_fit(options: dict[str, object], message: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=message):
        load_csv(write(tmp_path, "a,who,y\n1,x,0\n"), **options)  # type: ignore[arg-type]


@pytest.mark.parametrize("text", ["a,b,y,\n1,2,no,\n3,4,yes,\n", "a,b,y,,\n1,2,no,,\n3,4,yes, ,\n"])
def test_a_separator_after_the_last_name_makes_no_column(text: str, tmp_path: Path) -> None:
    table = load_csv(write(tmp_path, text), label="y")
    assert table.feature_names == ("a", "b")
    np.testing.assert_array_equal(table.features, [[1, 2], [3, 4]])
    (note,) = table.notes
    assert note.endswith("at the end without a name, empty in every row: left out")


def test_a_column_without_a_name_that_holds_something_is_refused_with_a_cure_that_works(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"line 3 has a cell in a column without a name.*name that column") as caught:
        load_csv(write(tmp_path, f"a,y,\n1,no,\n2,yes,{SECRET}\n"), label="y")
    assert SECRET not in str(caught.value)
    named = write(tmp_path, f"a,y,note\n1,no,\n2,yes,{SECRET}\n")
    assert load_csv(named, label="y", ignore=("note",)).feature_names == ("a",)
    # In the middle too.
    with pytest.raises(InputError, match=r"column 2 of the header has no name.*ignore in the site file"):
        load_csv(write(tmp_path, "a,,y\n1,,no\n"), label="y")


def test_a_row_without_the_last_separator_is_refused_where_the_header_has_it(tmp_path: Path) -> None:
    """It may lack the separator, or a cell before: nobody can tell."""
    with pytest.raises(InputError, match=r"line 3 has another number of cells.*expected 4, the last 1.*got 3"):
        load_csv(write(tmp_path, "a,b,y,\n1,2,no,\n3,4,yes\n"), label="y")
