"""Ids: one form for texts, whole numbers and dates, one or several columns, and refusals that never show one."""

from __future__ import annotations

import datetime
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hekat.data import Ids, Table, load_ids, load_npy, load_npz, load_python, load_table, make_ids
from hekat.data.id_texts import read_id_texts
from hekat.errors import InputError

SECRET = "patient-4711"


@pytest.mark.parametrize(
    ("values", "texts", "kind"),
    [
        ([" a", "b ", "a b"], ["a", "b", "a b"], "texts"),
        (np.array(["a", "bc"]), ["a", "bc"], "texts"),
        (np.array(["007", "7"], dtype=object), ["007", "7"], "texts"),
        (["Zoe\u0301", "Zo"], ["Zo\u00e9", "Zo"], "texts"),
        ([7, -1, 2**64], ["7", "-1", "18446744073709551616"], "whole numbers"),
        (np.array([7, 2**64 - 1], dtype=np.uint64), ["7", "18446744073709551615"], "whole numbers"),
        ((np.int8(7), 8), ["7", "8"], "whole numbers"),
        ([datetime.date(1980, 5, 7)], ["1980-05-07"], "dates"),
        (np.array(["1980-05-07"], dtype="datetime64[D]"), ["1980-05-07"], "dates"),
    ],
)
def test_ids_of_every_kind_become_texts(values: Any, texts: list[str], kind: str) -> None:
    ids = make_ids(values, "n")
    assert ids.to_rows() == [(text,) for text in texts]
    assert ids.kinds == (kind,)
    assert all(type(text) is str for text in ids.columns[0])


def test_whole_numbers_match_texts_of_their_digits_and_no_others() -> None:
    numbers, texts = make_ids([7, 12], "n"), make_ids(["007", "7", "12", "7.0"], "m")
    assert set(numbers.to_rows()) & set(texts.to_rows()) == {("7",), ("12",)}
    assert numbers.describe() == (
        'ids are whole numbers: a whole number matches the text of its digits, 7 matches "7" and not "007"'
    )
    padded = "; some texts are digits with zeros in front, which no whole number matches"
    assert texts.describe() == "ids are texts" + padded
    assert make_ids({"a": ["0", "7", "0x", "10"], "b": ["x"] * 4}, "n").describe() == "ids are texts"
    assert make_ids({"a": [1], "b": ["01"]}, "n").describe().endswith(padded)


def test_columns_do_not_run_into_each_other() -> None:
    ids = make_ids({"name": ["a", "ab", "a"], "born": ["bc", "c", "b"]}, "n")
    assert ids.to_rows() == [("a", "bc"), ("ab", "c"), ("a", "b")], "a name that repeats is no repeated row"
    assert ids.names == ("name", "born")
    assert ids.to_bytes() == [b"\1\0\0\0a\2\0\0\0bc", b"\2\0\0\0ab\1\0\0\0c", b"\1\0\0\0a\1\0\0\0b"]
    assert make_ids(["\u00e9"], "n").to_bytes() == [b"\2\0\0\0\xc3\xa9"]


def test_rows_are_taken_in_step_and_nothing_can_be_changed() -> None:
    table = Table(np.arange(8.0).reshape(4, 2), np.arange(4), ("a", "b"), "n", make_ids(["w", "x", "y", "z"], "n"))
    taken = table.take(np.array([3, 0]))
    assert taken.ids is not None
    assert (taken.ids.to_rows(), taken.features[:, 0].tolist()) == ([("z",), ("w",)], [6.0, 0.0])
    with pytest.raises(ValueError, match="read-only"):
        taken.ids.columns[0][0] = "q"
    with pytest.raises(InputError, match=r"a row with an id is taken twice; .*got 1 rows that were taken before"):
        table.take(np.array([1, 2, 1]))


def test_ids_of_a_caller_are_not_closed_to_writing() -> None:
    own = np.array(["a", "b"], dtype=object)
    ids = make_ids(own, "n")
    own[0] = "c"
    assert ids.to_rows() == [("a",), ("b",)]


def test_repr_shows_no_id() -> None:
    ids = make_ids({SECRET: [SECRET], "number": [4711]}, "n")
    assert repr(ids) == "Ids(1 rows, texts, whole numbers)"


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ([SECRET, "x", SECRET, SECRET], "n has ids that repeat; .*got 2 rows with an id that an earlier row has"),
        ([SECRET, f" {SECRET}"], "ids that repeat"),
        (["Zoe\u0301", "Zo\u00e9"], "ids that repeat"),
        ({"a": [SECRET] * 3, "b": [1, 2, 1]}, "ids that repeat; .*got 1 rows"),
        ([SECRET, None, None], "missing in some rows; .*none in 2 rows, first in row 2"),
        ([SECRET, float("nan")], "missing in some rows; .*none in 1 rows, first in row 2"),
        ([SECRET, None, b""], "missing in some rows; .*none in 1 rows"),
        ([SECRET, "  "], "missing in some rows; .*first in row 2"),
        (np.array(["NaT", "1980-05-07"], dtype="datetime64[D]"), "missing in some rows; .*first in row 1"),
        ([SECRET, 4711], "of several types; .*got texts and whole numbers"),
        ([4711, True], "of several types"),
        ([4711.0, 1.5], "of a type that cannot be used; .*got numbers with fractions"),
        (np.array([4711.0]), "got numbers with fractions"),
        ([True, False], "got values of type bool"),
        ([SECRET.encode()], "got values of type bytes"),
        ([datetime.datetime(1980, 5, 7)], "got values of type datetime"),
        (np.array([4711], dtype="datetime64[s]"), "got times"),
        ([(SECRET, 1)], "got values of type tuple"),
        ([1, 2**1025], "too large"),
        ([1, 10**5000], "too large"),
        (["\ud800"], "no text"),
        (SECRET, "are no column; .*got str"),
        ({SECRET, "x"}, "are no column; .*got set"),
        (4711, "are no column; .*got int"),
        (np.zeros((1, 1, 1), dtype=int), r"got shape \(1, 1, 1\)"),
        ({"a": [SECRET, "x"], "b": [1]}, "do not fit each other; .*got 1 and 2"),
        ({}, "got no column"),
    ],
)
def test_ids_that_are_refused_without_showing_one(values: Any, message: str) -> None:
    with pytest.raises(InputError, match=message) as caught:
        make_ids(values, "n")
    assert "4711" not in str(caught.value)


def test_ids_that_do_not_fit_the_rows() -> None:
    with pytest.raises(InputError, match=r"do not fit its rows; expected 2 ids.*got 1"):
        Table(np.eye(2), None, ("a", "b"), "n", make_ids(["p"], "n"))


def test_no_ids_are_texts() -> None:
    assert read_id_texts([], "n")[1] == "texts"
    assert len(make_ids([], "n")) == 0


# --- sources -----------------------------------------------------------------------------------------------

CSV = f"name,born,note,y\n{SECRET}, 07,some text,\n x,7,,\n{SECRET},8,nan,\n"
PYTHON = """import datetime
import numpy as np
from hekat.data import Table
def rows(): return np.eye(3), None, ["a", "b", "c"], ["p", "q", "r"]
def table(): return Table(np.eye(1), None, ("a",), ids=("p",))
def several(): return {"name": ["p", "p"], "born": [datetime.date(1980, 5, 7), datetime.date(1980, 5, 8)]}
def array(): return np.array([7, 8])
def without(): return np.eye(2), None, ["a", "b"]
def with_none(): return np.eye(2), None, ["a", "b"], None
def nothing(): return None
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "d.csv").write_text(CSV)
    (tmp_path / "d.py").write_text(PYTHON)
    np.savez(tmp_path / "d.npz", ids=np.array(["p", "q"]), y=np.array(["secret", "x"]))
    np.savez(tmp_path / "no.npz", features=np.eye(2))
    np.savez(tmp_path / "whole.npz", features=np.eye(2), ids=np.array([[7, 1], [7, 2]]))
    np.save(tmp_path / "d.npy", np.array([7, 8]))
    np.save(tmp_path / "x.npy", np.eye(2))
    return tmp_path


@pytest.mark.parametrize(
    ("kind", "options", "rows", "names"),
    [
        ("csv", {"path": "d.csv", "id": "born"}, [("07",), ("7",), ("8",)], ("born",)),
        (
            "csv",
            {"path": "d.csv", "id": ("born", "name"), "label": "y", "ignore": ("note",), "separator": ","},
            [("07", SECRET), ("7", "x"), ("8", SECRET)],
            ("born", "name"),
        ),
        ("npz", {"path": "d.npz"}, [("p",), ("q",)], ("id",)),
        ("npz", {"path": "whole.npz"}, [("7", "1"), ("7", "2")], ("id_1", "id_2")),
        ("npy", {"ids": "d.npy"}, [("7",), ("8",)], ("id",)),
        ("npy", {"ids": "d.npy", "features": "not_there.npy"}, [("7",), ("8",)], ("id",)),
        ("python", {"function": "d:rows"}, [("p",), ("q",), ("r",)], ("id",)),
        ("python", {"function": "d:table"}, [("p",)], ("id",)),
        ("python", {"function": "d:several"}, [("p", "1980-05-07"), ("p", "1980-05-08")], ("name", "born")),
        ("python", {"function": "d:array", "arguments": {}}, [("7",), ("8",)], ("id",)),
    ],
)
def test_ids_alone(
    kind: str, options: dict[str, Any], rows: list[tuple[str, ...]], names: tuple[str, ...], folder: Path
) -> None:
    ids = load_ids(kind, options, folder, name="n")
    assert isinstance(ids, Ids)
    assert (ids.to_rows(), ids.names) == (rows, names)


@pytest.mark.parametrize(
    ("kind", "options", "message"),
    [
        ("csv", {"path": "d.csv"}, r"n has no ids; .*got no id; cure: .*id = \[COLUMN, COLUMN\]"),
        ("csv", {"path": "d.csv", "id": "names"}, "id = 'names'; cure: did you mean 'name'"),
        ("csv", {"path": "d.csv", "id": ["name", "name"]}, "id refused; .*one of them twice"),
        ("csv", {"path": "d.csv", "id": "name"}, "ids that repeat; .*got 1 rows"),
        ("csv", {"path": "d.csv", "id": "note"}, "line 3 has no id"),
        ("csv", {"path": "d.csv", "id": ["name", "note"], "missing": ["nan"]}, "line 3 has no id"),
        ("csv", {"path": "empty.csv", "id": "name"}, "n has no rows"),
        ("libsvm", {"path": "d.svm", "columns": 3}, "n has no ids; .*got a libsvm file"),
        ("npz", {"path": "no.npz"}, "holds no ids"),
        ("npy", {"features": "x.npy"}, "n has no ids; .*got no ids"),
        ("python", {"function": "d:without"}, "returns no ids"),
        ("python", {"function": "d:with_none"}, "returns no ids"),
        ("python", {"function": "d:nothing"}, "returns no ids"),
        ("word", {}, "no such kind of source"),
    ],
)
def test_sources_without_ids(kind: str, options: dict[str, Any], message: str, folder: Path) -> None:
    (folder / "empty.csv").write_text("name,y\n")
    with pytest.raises(InputError, match=message) as caught:
        load_ids(kind, options, folder, name="n")
    assert "4711" not in str(caught.value)


def test_ids_of_parquet(tmp_path: Path) -> None:
    arrow = pytest.importorskip("pyarrow", reason="needs hekat[parquet]")
    parquet = pytest.importorskip("pyarrow.parquet", reason="needs hekat[parquet]")
    days = [datetime.date(1980, 5, 7), datetime.date(1980, 5, 8)]
    columns = {
        "number": arrow.array([7, 2**63], arrow.uint64()),
        "born": arrow.array(days),
        "born_64": arrow.array(days, arrow.date64()),
        "name": arrow.array([SECRET, f"{SECRET} "]).dictionary_encode(),
        "gap": ["x", " "],
        "time": arrow.array([1, 2], arrow.timestamp("s")),
        "other": [[1], [2]],
    }
    parquet.write_table(arrow.table(columns), tmp_path / "d.parquet", row_group_size=1)

    def load(*id: str) -> Ids:
        return load_ids("parquet", {"path": "d.parquet", "id": id}, tmp_path, name="n")

    ids = load("name", "born", "born_64", "number")
    assert ids.to_rows() == [
        (SECRET, "1980-05-07", "1980-05-07", "7"),
        (SECRET, "1980-05-08", "1980-05-08", str(2**63)),
    ]
    assert ids.kinds == ("texts", "dates", "dates", "whole numbers")
    for wrong, message in [
        ("name", "ids that repeat; .*got 1 rows"),
        ("gap", "missing in some rows; .*first in row 2"),
        ("time", "texts, whole numbers or dates for an id; got timestamp"),
        ("other", "texts, whole numbers or dates for an id; got list"),
        ("nmae", "did you mean 'name'"),
    ]:
        with pytest.raises(InputError, match=message) as caught:
            load(wrong)
        assert "4711" not in str(caught.value)
    with pytest.raises(InputError, match=r"n has no ids; .*got no id"):
        load_ids("parquet", {"path": "d.parquet"}, tmp_path, name="n")


def test_tables_of_every_source_keep_their_ids(folder: Path) -> None:
    (folder / "t.csv").write_text("name,a,born\np,1,7\np,2,8\n")
    tables = [
        load_npz(folder / "whole.npz"),
        load_npy(folder / "x.npy", ids=folder / "d.npy"),
        load_python("d:rows", folder),
        load_python("d:table", folder),
        load_table("npy", {"features": "x.npy", "ids": "d.npy"}, folder, name="n", classes=None, for_training=False),
        load_table(
            "csv", {"path": "t.csv", "id": ("name", "born")}, folder, name="n", classes=None, for_training=False
        ),
    ]
    assert [None if table.ids is None else table.ids.to_rows()[-1] for table in tables] == [
        ("7", "2"),
        ("8",),
        ("r",),
        ("p",),
        ("8",),
        ("p", "8"),
    ]
    assert tables[-1].feature_names == ("a",)
    for kind, options, message in [
        ("npy", {"ids": "d.npy"}, "n has no features; .*got ids only"),
        ("csv", {"path": "t.csv", "id": ("name", "born"), "ignore": ("born",)}, "both id and ignore"),
    ]:
        with pytest.raises(InputError, match=message):
            load_table(kind, options, folder, name="n", classes=None, for_training=False)
