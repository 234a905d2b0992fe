"""Patterns of names, marks of empty cells, missing as a category, and fills that follow from a table's own rows."""

from __future__ import annotations

import statistics
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hekat.data import ColumnSpec, ColumnSpecs, CsvDialect, Table, load_csv, load_parquet, load_table
from hekat.data.columns.order_keys import key_of_floats, lower_median, value_of_key
from hekat.data.columns.settle import settle_fills
from hekat.data.columns.specs import DEFAULT_MARKS, fits
from hekat.errors import InputError

ALL = ColumnSpecs(
    (
        ColumnSpec("*", fill="median", missing="category"),
        ColumnSpec("lab_*", fill="mean", missing="indicator"),
        ColumnSpec("lab_iron", fill=7.0),
        ColumnSpec("job", ("clerk", "nurse")),
        ColumnSpec("sex", ("f", "m"), fill="most_frequent"),
        ColumnSpec("note_*", ignore=True),
    )
)


def write(folder: Path, text: str) -> Path:
    path = folder / "data.csv"
    path.write_text(text)
    return path


def test_a_column_is_described_by_its_own_section_first_then_by_the_closest_pattern() -> None:
    assert ALL.find("age") == ColumnSpec("age", fill="median")
    assert ALL.find("lab_zinc") == ColumnSpec("lab_zinc", fill="mean", missing="indicator")
    assert ALL.find("lab_iron") == ColumnSpec("lab_iron", fill=7.0, missing="indicator")
    assert ALL.find("job") == ColumnSpec("job", ("clerk", "nurse"), missing="category"), "no median of categories"
    assert ALL.find("sex") == ColumnSpec("sex", ("f", "m"), fill="most_frequent"), "its own fill, so no category"
    assert ALL.find("note_1") == ColumnSpec("note_1", ignore=True)
    assert ColumnSpecs((ColumnSpec("lab_*", fill=1),)).find("age") is None


@pytest.mark.parametrize(
    ("pattern", "name", "is_fitting"),
    [("*", "a", True), ("a*", "A1", False), ("a?", "ab", False), ("[a]*", "a", False), ("[a]*", "[a]b", True)],
)
def test_only_a_star_has_a_meaning_in_a_pattern(pattern: str, name: str, is_fitting: bool) -> None:
    assert fits(pattern, name) is is_fitting


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"name": "a*", "categories": ("x",)}, "categories refused; expected the name of one column"),
        ({"name": "a*", "fill": "x"}, "fill refused"),
        ({"name": "a", "ignore": True, "fill": 1.0}, "ignore refused; expected nothing beside it"),
        ({"name": "a", "missing": "category", "fill": 1.0}, "missing refused; expected categories"),
        ({"name": "a", "categories": ("x",), "missing": "category", "fill": "x"}, "missing refused; expected no fill"),
        ({"name": "a", "categories": ("x",), "missing": "indicator"}, "missing refused"),
        ({"name": "a", "categories": ("missing",), "missing": "category"}, "missing refused; expected no category"),
        ({"name": "a", "missing": "both", "fill": 1.0}, "missing refused; expected 'category' or 'indicator'"),
        ({"name": "a", "categories": ("x",), "empty": ("x",)}, "empty refused"),
        ({"name": "a", "categories": ("x",), "empty": ("*",)}, "empty refused"),
        ({"name": "a", "categories": ("x",), "fill": "median"}, "fill refused"),
        ({"name": "a", "fill": "most_frequent"}, "fill refused"),
    ],
)
def test_descriptions_that_do_not_fit(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        ColumnSpec(**arguments)


def test_a_pattern_that_fits_no_column_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"no feature column that fits 'lap_\*'"):
        load_csv(write(tmp_path, "lab_1\n1\n"), columns=ColumnSpecs((ColumnSpec("lap_*", fill=1),)))


@pytest.mark.parametrize("mark", ["", " ", *DEFAULT_MARKS])
def test_marks_of_an_empty_cell(mark: str, tmp_path: Path) -> None:
    specs = ColumnSpecs((ColumnSpec("a", fill=9.0), ColumnSpec("job", ("x", "y"), missing="category")))
    table = load_csv(write(tmp_path, f"a,job\n1,x\n{mark},{mark}\n"), columns=specs)
    np.testing.assert_array_equal(table.features, [[1, 1, 0, 0], [9, 0, 0, 1]])


def test_a_listed_category_is_no_mark_and_labels_and_ids_have_none(tmp_path: Path) -> None:
    path = write(tmp_path, "who,region,y\nNA,NA,?\nnull,EU,None\n")
    table = load_csv(path, label="y", id="who", columns=ColumnSpecs((ColumnSpec("region", ("EU", "NA")),)))
    np.testing.assert_array_equal(table.features, [[0, 1], [1, 0]])
    assert table.labels is not None
    assert table.labels.tolist() == ["?", "None"]


def test_marks_of_a_column_and_of_a_file(tmp_path: Path) -> None:
    path = write(tmp_path, "a,b\n-9,3\nunknown,-9\n5,x\n")
    specs = ColumnSpecs((ColumnSpec("a", empty=("-9", "unknown"), fill=0), ColumnSpec("b", empty=("*",), fill=1)))
    np.testing.assert_array_equal(load_csv(path, columns=specs).features, [[0, 3], [0, -9], [5, 1]])
    table = load_csv(path, columns=specs, dialect=CsvDialect(missing=("5", "3")))
    np.testing.assert_array_equal(table.features, [[0, 1], [0, -9], [0, 1]])


def test_texts_of_a_parquet_file_have_the_same_marks(tmp_path: Path) -> None:
    arrow = pytest.importorskip("pyarrow", reason="needs hekat[parquet]")
    parquet = pytest.importorskip("pyarrow.parquet", reason="needs hekat[parquet]")
    parquet.write_table(arrow.table({"a": ["1", "NA", "3.5"], "job": ["x", "?", None]}), tmp_path / "d.parquet")
    specs = ColumnSpecs((ColumnSpec("a", fill=9.0), ColumnSpec("job", ("x",), missing="category")))
    table = load_parquet(tmp_path / "d.parquet", columns=specs)
    np.testing.assert_array_equal(table.features, [[1, 1, 0], [9, 0, 1], [3.5, 0, 1]])


@pytest.mark.parametrize("sparse", [False, True])
def test_fills_of_a_table_alone(sparse: bool, tmp_path: Path) -> None:
    text = "age,lab_zinc,job,sex,note_1\n1,1,clerk,m,free\n,,,,text\n4,2,nurse,m,\n9,4.5,nurse,f,x\n"
    specs = ColumnSpecs(tuple(spec for spec in ALL if spec.name != "lab_iron"))
    table = load_csv(write(tmp_path, text), columns=specs, sparse=sparse)
    assert {(one.names, one.rule) for one in table.open_fills} == {
        (("age",), "median"),
        (("lab_zinc",), "mean"),
        (("sex=f", "sex=m"), "most_frequent"),
    }
    settled, stated = settle_fills(table, specs)
    features = settled.features.toarray() if sparse else settled.features
    assert settled.feature_names[:6] == ("age", "lab_zinc", "lab_zinc=missing", "job=clerk", "job=nurse", "job=missing")
    np.testing.assert_array_equal(features[1], [4, 2.5, 1, 0, 0, 1, 0, 1])
    assert not settled.open_fills
    assert stated.find("age") == ColumnSpec("age", fill=4.0)
    assert stated.find("sex") == ColumnSpec("sex", ("f", "m"), fill="m")
    other = load_csv(write(tmp_path, "age,lab_zinc,job,sex,note_1\n,,clerk,,\n"), columns=stated)
    np.testing.assert_array_equal(other.features, [[4, 2.5, 1, 1, 0, 0, 0, 1]])


def test_a_column_without_any_value_has_no_fill(tmp_path: Path) -> None:
    specs = ColumnSpecs((ColumnSpec("a", fill="mean"),))
    table = load_csv(write(tmp_path, "a,b\n,1\n,2\n"), columns=specs)
    with pytest.raises(InputError, match=r"'a' is empty in every row; .*ignore = true"):
        settle_fills(table, specs)


@given(st.lists(st.floats(-(2.0**480), 2.0**480, allow_nan=False), min_size=1, max_size=30))
def test_keys_are_in_the_order_of_numbers(values: list[float]) -> None:
    keys = key_of_floats(np.array(values))
    assert ((keys >= 0) & (keys < 2**40)).all()
    order = np.argsort(values, kind="stable")
    assert (np.diff(keys[order]) >= 0).all()
    for value, key in zip(values, keys.tolist(), strict=True):
        assert value_of_key(key) == pytest.approx(value, rel=2.0**-29, abs=1e-300)


@given(st.lists(st.integers(-(2**29), 2**29), min_size=1, max_size=40))
def test_the_median_of_whole_numbers_is_exact_and_the_lower_one(values: list[int]) -> None:
    assert lower_median(np.array(values, dtype=np.float64)) == statistics.median_low(values)


@pytest.mark.parametrize(
    ("unknown", "row", "taken"),
    [
        ("ignore", [0, 0, 0], "none of them"),
        ("most_frequent", [np.nan, np.nan, 0], "the most frequent one"),
        ("y", [0, 1, 0], "'y'"),
        ("category", [0, 0, 1], "'other'"),
    ],
)
@pytest.mark.parametrize("sparse", [False, True])
def test_a_text_that_is_no_category_in_rows_that_are_not_trained_on(
    unknown: str, row: list[float], taken: str, sparse: bool, tmp_path: Path
) -> None:
    write(tmp_path, "a,job\n1,x\n2,z\n3,y\n")
    missing = None if unknown == "category" else "category"
    specs = ColumnSpecs((ColumnSpec("job", ("x", "y"), unknown=unknown, missing=missing),))

    def load(*, for_training: bool) -> Table:
        return load_table(
            "csv", {"path": "data.csv", "label": "a"}, tmp_path, name="n", classes=None, columns=specs,
            sparse=sparse, for_training=for_training,
        )  # fmt: skip

    table = load(for_training=False)
    features = table.features.toarray() if sparse else table.features
    np.testing.assert_array_equal(features, [[1, 0, 0], row, [0, 1, 0]])
    assert table.notes == (f"1 rows of column 'job' hold none of its categories and count as {taken}",)
    if unknown == "category":
        np.testing.assert_array_equal(load(for_training=True).features.sum(axis=0), [1, 1, 1])
    else:
        with pytest.raises(InputError, match="vocabulary mismatch"):
            load(for_training=True)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"unknown": "z"}, "unknown refused; expected 'error' or 'category' .*or one of the categories"),
        ({"unknown": "ignore", "other": True}, "unknown refused; expected 'category' beside other"),
        ({"unknown": "ignore", "categories": (), "fill": 1.0}, "unknown refused; expected categories"),
    ],
)
def test_words_for_unknown_texts_that_do_not_fit(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        ColumnSpec(**{"name": "a", "categories": ("x",), **arguments})


def test_an_unknown_text_of_one_owners_column_becomes_the_category_that_its_rows_gave(tmp_path: Path) -> None:
    specs = ColumnSpecs((ColumnSpec("*", unknown="most_frequent"), ColumnSpec("job", ("x", "y"), missing="category")))
    _, stated = settle_fills(load_csv(write(tmp_path, 'job\nx\ny\ny\n""\n'), columns=specs), specs)
    assert stated.find("job") == ColumnSpec("job", ("x", "y"), missing="category", unknown="y")
    assert ColumnSpecs.from_json(stated.to_json()) == stated


FOUND = ColumnSpecs((ColumnSpec("*", found=True, missing="category", fill="median"), ColumnSpec("grade", found=True)))


def test_categories_are_found_in_columns_of_texts_and_listed_for_other_rows(tmp_path: Path) -> None:
    text = "age,job,grade,free\n30,nurse,2,1\n,clerk,10,2\n50,?,2.0,3\n"
    table = load_csv(write(tmp_path, text), columns=FOUND)
    settled, stated = settle_fills(table, FOUND)
    assert settled.feature_names == (
        "age", "job=clerk", "job=nurse", "job=missing", "grade=2", "grade=10", "grade=missing", "free",
    )  # fmt: skip
    np.testing.assert_array_equal(settled.features[1:, :4], [[30, 1, 0, 0], [50, 0, 0, 1]])
    assert stated.find("job") == ColumnSpec("job", ("clerk", "nurse"), missing="category")
    assert stated.find("grade") == ColumnSpec("grade", ("2", "10"), missing="category")
    other = load_csv(write(tmp_path, "age,job,grade,free\n,nurse,,9\n"), columns=stated)
    np.testing.assert_array_equal(other.features, [[30, 0, 1, 0, 0, 0, 1, 9]])
    with pytest.raises(InputError, match="vocabulary mismatch in column 'job'"):
        load_csv(write(tmp_path, "age,job,grade,free\n1,pilot,2,9\n"), columns=stated)
    assert ColumnSpecs.from_json(stated.to_json()) == stated


def test_a_column_with_too_many_texts_has_no_categories_to_find(tmp_path: Path) -> None:
    lines = "\n".join(f"text {number}" for number in range(201))
    with pytest.raises(InputError, match="'note' holds texts"):
        load_csv(write(tmp_path, f"note\n{lines}\n"), columns=ColumnSpecs((ColumnSpec("*", found=True),)))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"categories": ("x",)}, "categories refused; expected 'found' alone"),
        ({"name": "a*", "other": True}, "categories refused; expected 'found' alone"),
        ({"fill": "x"}, "fill refused; expected 'most_frequent'"),
        ({"name": "a*", "unknown": "category"}, "unknown refused"),
        ({"min_rows": 0}, "min_rows refused; expected a whole number from 1 to 1000000; got 0"),
        ({"min_rows": True}, "min_rows refused"),
        ({"name": "a*", "min_rows": 2}, "min_rows refused; expected categories = 'found' beside it, of one column"),
        ({"missing": "indicator"}, "missing refused"),
    ],
)
def test_what_does_not_fit_categories_that_are_found(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        ColumnSpec(**{"name": "a", "found": True, **arguments})
