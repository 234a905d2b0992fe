"""CSV, npz and Python sources: what they load, and the answer to everything they refuse."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hekat.data import Table, load_csv, load_npz, load_python, load_table
from hekat.errors import InputError


def write(folder: Path, content: str | bytes, name: str = "data.csv") -> Path:
    path = folder / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


# --- csv ---------------------------------------------------------------------------------------------------


def test_csv_columns_labels_and_what_is_ignored(tmp_path: Path) -> None:
    text = 'id,age,"size, mm",diagnosis\r\nx1,63, 1.5,benign\r\n\r\n"x,2",-7e-1,+2,malignant\r\n'
    table = load_csv(write(tmp_path, text), label="diagnosis", ignore=["id"], name="n")
    assert table.feature_names == ("age", "size, mm")
    np.testing.assert_array_equal(table.features, [[63, 1.5], [-0.7, 2]])
    assert table.labels is not None
    assert table.labels.tolist() == ["benign", "malignant"]
    assert table.name == "n"


def test_csv_with_a_byte_order_mark_and_without_labels(tmp_path: Path) -> None:
    table = load_csv(write(tmp_path, "\ufeffa,ü\n1,2\n"))
    assert table.feature_names == ("a", "ü")
    assert table.labels is None


def test_csv_of_a_header_only_has_no_rows(tmp_path: Path) -> None:
    path = write(tmp_path, "a,b,y\n")
    assert load_csv(path, label="y").features.shape == (0, 2)
    with pytest.raises(InputError, match="has no rows"):
        load_table("csv", {"path": path.name, "label": "y"}, tmp_path, name="n", classes=("0", "1"))


@given(
    rows=st.lists(st.tuples(st.floats(allow_nan=False, allow_infinity=False), st.integers(-(2**53), 2**53)), min_size=1)
)
@settings(max_examples=50, deadline=None)
def test_csv_numbers_come_back_exactly(rows: list[tuple[float, int]], tmp_path_factory: pytest.TempPathFactory) -> None:
    text = "a,b\n" + "".join(f"{a!r},{b}\n" for a, b in rows)
    table = load_csv(write(tmp_path_factory.mktemp("csv"), text))
    assert table.features.tobytes() == np.array(rows, dtype=np.float64).tobytes()


@pytest.mark.parametrize(
    ("cell", "got"),
    [
        ("secret", "got a text"),
        ("", "has empty cells"),
        ("  ", "has empty cells"),
        ("nan", "has empty cells"),
        ("-nan", "got NaN"),
        ("-inf", "got an infinite value"),
        ("1e999", "got an infinite value"),
        ("1_000", "got a text"),
        ('"12,5"', "decimal comma"),
        ('"1,234,5"', "got a text"),
        ("0x1F", "got a text"),
    ],
)
def test_a_cell_that_is_no_number_is_named_by_line_and_column(tmp_path: Path, cell: str, got: str) -> None:
    path = write(tmp_path, f'id,a,b,y\n"two\nlines",1,2,0\n\nx,3,{cell},1\nx,4,1,1\n')
    with pytest.raises(InputError, match=r"data.csv: column 'b' .* first in line 5") as caught:
        load_csv(path, label="y", ignore=["id"])
    assert got in str(caught.value)
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("\n\n\n", "has no header"),
        ("1,2\n3,4\n", "has no header; .*got numbers"),
        ("a;b\n1;2\n", 'not separated by commas.*got semicolons; cure: say separator = ";"'),
        ("a\tb\n1\t2\n", r"got tabs; cure: say separator = \"\\t\""),
        ("a,,y\n1,2,0\n", "column 2 of the header has no name"),
        ("a,y,a\n1,0,2\n", "column 3 of the header repeats a name"),
        ("a,y\n1,0\n1,2,0\n", "line 3 has another number of cells than the header; expected 2; got 3"),
        ("a,y\n1,0\n1\n", "line 3 has another number of cells"),
        ("a,y\n1,\n", "line 2 has no label"),
        ('a,y\n"1"x,0\n', "line 2 is not CSV"),
        ('a,y\n"1,0\n', "is not CSV"),
        ("a,y\n" + "1" * 200_000 + ",0\n", "line 2 is not CSV.*field larger"),
        ("a,label\n1,0\n", "has no column 'y'"),
    ],
)
def test_csv_files_that_are_refused(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        load_csv(write(tmp_path, text), label="y")


def test_misspelt_columns_are_answered_with_the_right_one(tmp_path: Path) -> None:
    path = write(tmp_path, "patient,age,diagnosis\n1,2,0\n")
    with pytest.raises(InputError, match="label = 'diagnoses'; cure: did you mean 'diagnosis'"):
        load_csv(path, label="diagnoses")
    with pytest.raises(InputError, match="ignore = 'patent'; cure: did you mean 'patient'"):
        load_csv(path, label="diagnosis", ignore=["patent"])
    with pytest.raises(InputError, match="both label and ignore"):
        load_csv(path, label="diagnosis", ignore=["diagnosis"])


@pytest.mark.parametrize("load", [load_csv, load_npz])
def test_files_that_are_not_there_or_not_files(tmp_path: Path, load: Any) -> None:
    (tmp_path / "file").write_bytes(b"")
    for path, message in [
        (tmp_path / "missing.csv", "is not there.*relative to that file"),
        (tmp_path / "file" / "data.csv", "is not there"),
        (tmp_path, "is a folder"),
        (tmp_path / "file", "is empty"),
        (tmp_path / ("n" * 300), "cannot be read; .*File name too long"),
    ]:
        with pytest.raises(InputError, match=message):
            load(path)


def test_a_file_without_permission(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write(tmp_path, "a,y\n1,0\n")

    def refuse(*_: Any, **__: Any) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "open", refuse)
    with pytest.raises(InputError, match="may not be read"):
        load_csv(path)


@pytest.mark.parametrize("content", [b"a,y\n\xff\xfe,0\n", "a,y\n1,0\n".encode("utf-16"), b"a,\xe9\n1,0\n"])
def test_other_encodings(tmp_path: Path, content: bytes) -> None:
    with pytest.raises(InputError, match=r"is not UTF-8 text.*cure: save the file as UTF-8"):
        load_csv(write(tmp_path, content))


@given(content=st.binary(min_size=1, max_size=200))
@settings(max_examples=200, deadline=None)
def test_no_bytes_get_past_as_anything_but_a_table_or_a_refusal(
    content: bytes, tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.getbasetemp() / "bytes"
    path.write_bytes(content)
    for load in (load_csv, load_npz):
        try:
            table = load(path)
        except InputError:
            continue
        assert np.isfinite(table.features).all()


# --- npz ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("keys", [("features", "labels", "feature_names"), ("X", "y", "names")])
def test_npz_with_either_names(tmp_path: Path, keys: tuple[str, str, str]) -> None:
    arrays = dict(zip(keys, (np.eye(2, dtype=np.float32), np.array(["a", "b"]), np.array(["p", "q"])), strict=True))
    np.savez_compressed(tmp_path / "data.npz", **arrays)
    table = load_npz(tmp_path / "data.npz")
    np.testing.assert_array_equal(table.features, np.eye(2))
    assert table.feature_names == ("p", "q")
    assert table.labels is not None
    assert table.labels.tolist() == ["a", "b"]


def test_npz_without_names_or_labels_numbers_its_columns(tmp_path: Path) -> None:
    np.savez(tmp_path / "data.npz", features=np.zeros((1, 3)))
    table = load_npz(tmp_path / "data.npz")
    assert table.feature_names == ("column_1", "column_2", "column_3")
    assert table.labels is None


def test_npz_files_that_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "data.npz"
    np.savez(path, data=np.zeros(3))
    with pytest.raises(InputError, match=r"an array called features \(or X\).*got arrays data"):
        load_npz(path)
    np.savez(path, features=np.array([[None]]))
    with pytest.raises(InputError, match="Python objects"):
        load_npz(path)
    np.savez(path, features=np.array([["text"]]))
    with pytest.raises(InputError, match="not numeric"):
        load_npz(path)
    np.savez(path, features=np.zeros(4))
    with pytest.raises(InputError, match="not a table"):
        load_npz(path)
    with path.open("wb") as file:
        np.save(file, np.zeros((2, 2)))
    with pytest.raises(InputError, match=r"a single \.npy array"):
        load_npz(path)


def test_every_truncated_or_flipped_npz_is_refused_or_whole(tmp_path: Path) -> None:
    path = tmp_path / "data.npz"
    features = np.arange(4.0).reshape(2, 2)
    np.savez(path, features=features)
    whole = path.read_bytes()
    refused = 0
    for position in range(1, len(whole)):
        flipped = bytearray(whole)
        flipped[position] ^= 0xFF
        for content in (whole[:position], bytes(flipped)):
            path.write_bytes(content)
            try:
                np.testing.assert_array_equal(load_npz(path).features, features)
            except InputError:
                refused += 1
    assert refused > 1.7 * len(whole)


# --- python ------------------------------------------------------------------------------------------------

SOURCE = """
from dataclasses import dataclass
import numpy as np

@dataclass
class Row:
    value: "float"

def load(scale=1.0):
    return np.eye(2) * scale, np.array([0, 1]), ("a", "b")

def unlabelled():
    return [[1, 2]], None, ["a", "b"]

def table():
    from hekat.data import Table
    return Table(np.eye(2), None, ("a", "b"), "own name")

def breaks():
    raise RuntimeError("patient 4711 is missing")

def two():
    return np.eye(2), np.zeros(2)

def nothing():
    return None

def one_name():
    return np.eye(2), None, "ab"

number = 5


def leaves():
    raise SystemExit(0)
"""


def test_python_sources(tmp_path: Path) -> None:
    write(tmp_path, SOURCE, "rows.py")
    table = load_python("rows:load", tmp_path, {"scale": 3}, name="n")
    np.testing.assert_array_equal(table.features, np.eye(2) * 3)
    assert (table.feature_names, table.name) == (("a", "b"), "n")
    assert load_python("rows:unlabelled", tmp_path).labels is None
    assert load_python("rows:table", tmp_path, name="n").name == "n"
    (tmp_path / "sub").mkdir()
    write(tmp_path / "sub", SOURCE, "rows.py")
    assert len(load_python("sub.rows:load", tmp_path)) == 2


def test_a_python_source_is_read_anew_and_shadows_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    write(tmp_path, "def load():\n    return [[1.0]], None, ['a']\n", "numpy.py")
    assert load_python("numpy:load", tmp_path).features[0, 0] == 1
    write(tmp_path, "def load():\n    return [[22.0]], None, ['a']\n", "numpy.py")
    assert load_python("numpy:load", tmp_path).features[0, 0] == 22
    times = (tmp_path / "numpy.py").stat()
    write(tmp_path, "def load():\n    return [[33.0]], None, ['a']\n", "numpy.py")
    os.utime(tmp_path / "numpy.py", ns=(times.st_atime_ns, times.st_mtime_ns))  # of the same size and time
    assert load_python("numpy:load", tmp_path).features[0, 0] == 33
    import numpy

    assert numpy.__file__ != str(tmp_path / "numpy.py")


@pytest.mark.parametrize(
    ("function", "arguments", "message"),
    [
        ("rows", {}, "not written as module:function"),
        ("rows:", {}, "not written as module:function"),
        ("../rows:load", {}, "not written as module:function"),
        ("rows/load:x", {}, "not written as module:function"),
        ("row:load", {}, r"row\.py is not there"),
        ("rows:lod", {}, "no function 'lod'.*did you mean 'load'"),
        ("rows:number", {}, "no function 'number'"),
        ("rows:load", {"size": 1}, r"expected load\(scale=1.0\).*unexpected keyword argument 'size'"),
        ("rows:breaks", {}, "rows:breaks raised.*RuntimeError at line 20"),
        ("rows:leaves", {}, "rows:leaves raised.*SystemExit at line"),
        ("rows:two", {}, "got a tuple of 2"),
        ("rows:nothing", {}, "got NoneType"),
        ("rows:one_name", {}, "one text for each column"),
        ("broken:load", {}, "cannot be loaded.*SyntaxError at line 2"),
        ("leaves:load", {}, "cannot be loaded.*SystemExit at line 1"),
        ("imports:load", {}, "cannot be loaded.*ModuleNotFoundError at line 1"),
    ],
)
def test_python_sources_that_are_refused(
    tmp_path: Path, function: str, arguments: dict[str, Any], message: str
) -> None:
    write(tmp_path, SOURCE, "rows.py")
    write(tmp_path, "x = 1\ndef load(:\n", "broken.py")
    write(tmp_path, "raise SystemExit(3)\n", "leaves.py")
    write(tmp_path, "import no_such_module_anywhere\n", "imports.py")
    with pytest.raises(InputError, match=message) as caught:
        load_python(function, tmp_path, arguments)
    assert "4711" not in str(caught.value)


# --- all kinds ---------------------------------------------------------------------------------------------


def test_each_kind_gives_the_same_checked_table(tmp_path: Path) -> None:
    write(tmp_path, "a,b,y\n1,0,no\n0,1,yes\n")
    np.savez(tmp_path / "data.npz", features=np.eye(2), labels=np.array([0, 1]), feature_names=np.array(["a", "b"]))
    write(tmp_path, SOURCE, "rows.py")
    tables = [
        load_table(kind, options, tmp_path, name="n", classes=("no", "yes"))
        for kind, options in [
            ("csv", {"path": "data.csv", "label": "y", "ignore": ()}),
            ("npz", {"path": "data.npz"}),
            ("python", {"function": "rows:load", "arguments": {}}),
        ]
    ]
    for table in tables:
        assert isinstance(table, Table)
        np.testing.assert_array_equal(table.features, np.eye(2))
        assert table.labels is not None
        assert table.labels.dtype == np.int64
        assert table.labels.tolist() == [0, 1]
        assert table.feature_names == ("a", "b")


@pytest.mark.parametrize(
    ("text", "message"),
    [("a,y\n1,0\n", "has one row"), ("a,y\n1,0\n2,7\n", "none of the classes")],
)
def test_training_needs_more_than_testing(tmp_path: Path, text: str, message: str) -> None:
    write(tmp_path, text)
    with pytest.raises(InputError, match=message):
        load_table("csv", {"path": "data.csv", "label": "y"}, tmp_path, name="n", classes=("no", "yes"))


def test_a_table_to_predict_for_may_be_one_row_without_labels(tmp_path: Path) -> None:
    write(tmp_path, "a\n1\n")
    table = load_table("csv", {"path": "data.csv"}, tmp_path, name="n", classes=("x", "y"), for_training=False)
    assert len(table) == 1
    with pytest.raises(InputError, match="has no labels"):
        load_table("csv", {"path": "data.csv"}, tmp_path, name="n", classes=("x", "y"))


def test_non_finite_rows_of_other_sources_are_refused(tmp_path: Path) -> None:
    np.savez(tmp_path / "data.npz", features=np.array([[1.0], [np.nan]]), labels=np.array([0, 1]))
    with pytest.raises(InputError, match=r"column 'column_1' has empty cells.*first in row 2"):
        load_table("npz", {"path": "data.npz"}, tmp_path, name="n", classes=("x", "y"))


def test_an_unknown_kind(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="csv or parquet or sql or excel or libsvm or npz or npy or python"):
        load_table("word", {}, tmp_path, name="n", classes=None)
