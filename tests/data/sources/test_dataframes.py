"""Data frames of pandas, polars and PyArrow become the same columns; refusals hold no value."""

from __future__ import annotations

import datetime

import numpy as np
import pytest

from hekat.data import ColumnSpec, ColumnSpecs, is_dataframe, read_dataframe, table_from_dataframe
from hekat.data.raw_table import TextColumn
from hekat.errors import InputError

COLUMNS = {
    "patient": [7, 12, 31],
    "age": [61, 40, 25],
    "weight": [80.5, None, 72.0],
    "smokes": [True, False, True],
    "town": ["Ulm", None, " Bonn "],
    "born": [datetime.date(1970, 1, 2), datetime.date(1969, 12, 31), datetime.date(2000, 1, 1)],
    "sick": ["yes", "no", "yes"],
}
SPECS = ColumnSpecs((ColumnSpec("weight", fill=70.0), ColumnSpec("town", ("Bonn", "Ulm"), fill="Ulm")))


def frame(library: str, columns=COLUMNS):
    if library == "pandas":
        return pytest.importorskip("pandas", reason="needs hekat[dev]").DataFrame(columns)
    if library == "polars":
        return pytest.importorskip("polars", reason="needs hekat[dev]").DataFrame(columns)
    return pytest.importorskip("pyarrow", reason="needs hekat[parquet]").table(columns)


@pytest.fixture(params=["pandas", "polars", "pyarrow"])
def library(request) -> str:
    return request.param


def test_each_library_gives_the_same_columns(library) -> None:
    given = frame(library)
    assert is_dataframe(given)
    if library == "pandas":
        given["born"] = given["born"].astype("datetime64[ns]")
    read = read_dataframe(given, "clinic", dates=["born"])
    assert read.names == tuple(COLUMNS)
    assert read.row_count == 3
    assert read.index is None
    np.testing.assert_array_equal(read.columns["weight"], [80.5, np.nan, 72.0])
    np.testing.assert_array_equal(read.columns["smokes"], [1.0, 0.0, 1.0])
    np.testing.assert_array_equal(read.columns["born"], [1.0, -1.0, 10957.0])
    town = read.columns["town"]
    assert isinstance(town, TextColumn)
    assert ([*town.codes], town.texts) == ([0, -1, 1], ("Ulm", "Bonn"))


def test_each_library_gives_the_same_table(library) -> None:
    table = table_from_dataframe(
        frame(library), label="sick", id="patient", ignore=["born"], columns=SPECS, digest_rows=True, name="clinic"
    )
    assert table.feature_names == ("age", "weight", "smokes", "town=Bonn", "town=Ulm")
    np.testing.assert_array_equal(table.features, [[61, 80.5, 1, 0, 1], [40, 70.0, 0, 0, 1], [25, 72.0, 1, 1, 0]])
    assert table.labels.tolist() == ["yes", "no", "yes"]
    assert table.ids.to_rows() == [("7",), ("12",), ("31",)]
    assert table.rows_digest is not None


def test_categories_of_a_library_are_texts() -> None:
    pandas, polars = (
        pytest.importorskip("pandas", reason="needs hekat[dev]"),
        pytest.importorskip("polars", reason="needs hekat[dev]"),
    )
    for given in (
        pandas.DataFrame({"town": pandas.Categorical(["Ulm", None, "Bonn"])}),
        polars.DataFrame({"town": polars.Series(["Ulm", None, "Bonn"], dtype=polars.Categorical)}),
        pandas.DataFrame({"town": np.array(["Ulm", np.nan, "Bonn"], dtype=object)}),
    ):
        town = read_dataframe(given, "clinic").columns["town"]
        assert ([*town.codes], town.texts) == ([0, -1, 1], ("Ulm", "Bonn"))


def test_an_index_is_told_and_is_no_feature() -> None:
    pandas = pytest.importorskip("pandas", reason="needs hekat[dev]")
    given = pandas.DataFrame({"age": [61, 40]}, index=["ann", "bob"])
    assert read_dataframe(given, "clinic").index.tolist() == ["ann", "bob"]
    assert table_from_dataframe(given).feature_names == ("age",)
    assert read_dataframe(given.reset_index(drop=True), "clinic").index is None


def test_a_time_with_a_zone_is_a_part_of_the_day_of_utc() -> None:
    pandas = pytest.importorskip("pandas", reason="needs hekat[dev]")
    stamps = pandas.to_datetime(["1970-01-02 13:00+01:00", None])
    read = read_dataframe(pandas.DataFrame({"seen": stamps}), "clinic", dates=["seen"])
    np.testing.assert_array_equal(read.columns["seen"], [1.5, np.nan])


SECRET = "Rumpelstilzchen"


@pytest.mark.parametrize(
    ("columns", "options", "words"),
    [
        ({"born": COLUMNS["born"]}, {}, "holds dates"),
        ({"key": [2**60, 1, 2]}, {}, "2^53"),
        ({"what": [[1], [2], [3]]}, {}, "cannot be used"),
        ({"age": [1, 2, 3], "sick": [SECRET, None, "no"]}, {"label": "sick"}, "without a label"),
        ({"age": [1, 2, 3], "who": [SECRET, None, "b"]}, {"id": "who"}, "without an id"),
        ({"age": [1, 2, 3]}, {"label": "agee"}, "did you mean 'age'"),
    ],
)
def test_what_cannot_be_is_refused_without_a_value(columns, options, words, library) -> None:
    with pytest.raises(InputError) as refused:
        table_from_dataframe(frame(library, columns), name="clinic", **options)
    assert words in str(refused.value)
    assert SECRET not in str(refused.value)


def test_a_lazy_frame_is_to_be_collected_and_twin_names_are_refused() -> None:
    pandas, polars = (
        pytest.importorskip("pandas", reason="needs hekat[dev]"),
        pytest.importorskip("polars", reason="needs hekat[dev]"),
    )
    lazy = polars.DataFrame({"age": [1]}).lazy()
    assert is_dataframe(lazy)
    with pytest.raises(InputError, match=r"\.collect\(\)"):
        read_dataframe(lazy, "clinic")
    with pytest.raises(InputError, match="share a name"):
        read_dataframe(pandas.DataFrame([[1, 2]], columns=["age", "age"]), "clinic")
    with pytest.raises(InputError, match="no data frame"):
        read_dataframe(np.zeros((2, 2)), "clinic")
