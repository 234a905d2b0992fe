"""Columns by name and pattern, and columns of dates, alike in every source whose columns have names."""

from __future__ import annotations

import datetime
import json
from pathlib import Path

import numpy as np
import pytest

from hekat.data import ColumnSpec, ColumnSpecs, load_ids, load_table
from hekat.errors import InputError

NAMES = ["lab_a", "lab_b", "tmp_1", "tmp_2", "seen", "who", "ill"]
ROWS = [[1.0, 2.0, 3.0, 4.0, "1970-01-03", "a", "yes"], [5.0, 6.0, 7.0, 8.0, "1970-01-05", "b", "no"]]
OPTIONS = {"label": "ill", "id": "who"}


@pytest.fixture(params=["csv", "parquet", "python"])
def source(request, tmp_path):
    """A kind, its options for the same table, and the folder."""
    columns = {name: [row[number] for row in ROWS] for number, name in enumerate(NAMES)}
    if request.param == "csv":
        lines = [NAMES, *ROWS]
        (tmp_path / "a.csv").write_text("".join(",".join(map(str, line)) + "\n" for line in lines))
        return "csv", {"path": "a.csv"}, tmp_path
    pyarrow = pytest.importorskip("pyarrow", reason="needs hekat[parquet]")
    if request.param == "parquet":
        parquet = pytest.importorskip("pyarrow.parquet", reason="needs hekat[parquet]")
        parquet.write_table(pyarrow.table(columns), tmp_path / "a.parquet")
        return "parquet", {"path": "a.parquet"}, tmp_path
    code = f"import pyarrow\n\ndef load():\n    return pyarrow.table({json.dumps(columns)})\n"
    (tmp_path / "rows.py").write_text(code)
    return "python", {"function": "rows:load"}, tmp_path


def load(source, **options):
    kind, given, folder = source
    return load_table(kind, {**given, **OPTIONS, **options}, folder, name="clinic", classes=["no", "yes"])


def test_patterns_choose_columns(source) -> None:
    assert load(source, columns=["lab_*", "tmp_2"]).feature_names == ("lab_a", "lab_b", "tmp_2")
    assert load(source, columns=["*"], ignore=["tmp_*", "seen"]).feature_names == ("lab_a", "lab_b")
    assert load(source, ignore=["tmp_*", "s*"]).feature_names == ("lab_a", "lab_b")
    # A pattern passes over the label and ids; their names do not.
    assert load(source, columns=["lab_a"], ignore=["*o", "tmp_*"]).labels.tolist() == [1, 0]
    with pytest.raises(InputError, match="both id and ignore"):
        load(source, ignore=["who"])


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"columns": ["lab-*"]}, "columns = 'lab-*'"),
        ({"ignore": ["temp_*"]}, "ignore = 'temp_*'"),
        ({"columns": ["lab_c"]}, "did you mean 'lab_"),
        ({"dates": ["sen"]}, "no column 'sen'"),
    ],
)
def test_what_fits_no_column_is_refused(options, words, source) -> None:
    with pytest.raises(InputError) as refused:
        load(source, **options)
    assert words in str(refused.value)


def test_texts_of_dates_are_days(source) -> None:
    table = load(source, columns=["seen"], dates=["seen"])
    np.testing.assert_array_equal(table.features, [[2.0], [4.0]])
    with pytest.raises(InputError, match=r"hold.* texts that are no dates.*%d\.%m\.%Y.*2 rows, first in"):
        load(source, columns=["seen"], dates=["seen"], date_format="%d.%m.%Y")


def test_ids_alone_are_read(source) -> None:
    kind, given, folder = source
    assert load_ids(kind, {**given, **OPTIONS}, folder, name="clinic").to_rows() == [("a",), ("b",)]


def test_dates_of_another_writing_and_gaps(tmp_path) -> None:
    (tmp_path / "a.csv").write_text("seen,ill\n03.01.1970,yes\n,no\n04.01.1970,no\n")
    options = {"path": "a.csv", "label": "ill", "dates": ["seen"], "date_format": "%d.%m.%Y"}
    specs = ColumnSpecs((ColumnSpec("seen", fill=0.5),))
    table = load_table("csv", options, tmp_path, name="clinic", classes=["no", "yes"], columns=specs)
    np.testing.assert_array_equal(table.features, [[2.0], [0.5], [3.0]])


def test_parquet_dates_times_texts_and_nulls(tmp_path) -> None:
    pyarrow = pytest.importorskip("pyarrow", reason="needs hekat[parquet]")
    parquet = pytest.importorskip("pyarrow.parquet", reason="needs hekat[parquet]")
    moment = datetime.datetime(1970, 1, 2, 12, tzinfo=datetime.UTC)
    columns = {
        "day": pyarrow.array([datetime.date(1970, 1, 2), None]),
        "moment": pyarrow.array([moment, None], pyarrow.timestamp("ns", tz="Europe/Berlin")),
        "town": pyarrow.array(["Ulm", None]).dictionary_encode(),
        "count": pyarrow.array([None, 3]),
    }
    parquet.write_table(pyarrow.table(columns), tmp_path / "a.parquet")
    specs = ColumnSpecs(
        (
            *(ColumnSpec(name, fill=-1.0) for name in ("day", "moment", "count")),
            ColumnSpec("town", ("Ulm", "Bonn"), fill="Bonn"),
        )
    )
    options = {"path": "a.parquet", "dates": ["day", "moment"]}
    table = load_table("parquet", options, tmp_path, name="n", classes=None, columns=specs, for_training=False)
    np.testing.assert_array_equal(table.features, [[1, 1.5, 1, 0, -1], [-1, -1, 0, 1, 3]])


def test_a_function_that_returns_no_frame_names_no_columns(tmp_path) -> None:
    (tmp_path / "rows.py").write_text("def load():\n    return [[1.0]], None, ['a']\n")
    with pytest.raises(InputError, match="returns no data frame"):
        load_table("python", {"function": "rows:load", "ignore": ["a"]}, Path(tmp_path), name="n", classes=None)
