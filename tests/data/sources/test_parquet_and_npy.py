"""Parquet (extra hekat[parquet]) and single .npy arrays: what they load, and the answer to what they refuse."""

from __future__ import annotations

import builtins
import datetime
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hekat.data import ColumnSpec, ColumnSpecs, load_npy, load_parquet, load_table
from hekat.errors import InputError

JOB = ColumnSpecs((ColumnSpec("job", ("clerk", "nurse")),))


@pytest.fixture
def write(tmp_path: Path) -> Any:
    arrow = pytest.importorskip("pyarrow", reason="needs hekat[parquet]")
    parquet = pytest.importorskip("pyarrow.parquet", reason="needs hekat[parquet]")

    def write(columns: dict[str, Any], name: str = "d.parquet", **options: Any) -> Path:
        parquet.write_table(arrow.table(columns), tmp_path / name, **options)
        return tmp_path / name

    return write


@pytest.mark.parametrize("coded", [False, True])
@pytest.mark.parametrize("row_group_size", [None, 2])
def test_parquet_columns_of_every_kind(coded: bool, row_group_size: int | None, write: Any) -> None:
    import pyarrow as arrow

    job = arrow.array(["nurse", "clerk", " nurse"])
    path = write(
        {
            "who": arrow.array([11, 12, 13]),
            "age": arrow.array([30, 41, 52], arrow.int16()),
            "rich": arrow.array([True, False, True]),
            "size": arrow.array([1.5, 2.5, -1.0], arrow.float32()),
            "job": job.dictionary_encode() if coded else job,
            "note": ["a", "b", "c"],
            "ill": ["no", "yes", "no"],
        },
        row_group_size=row_group_size,
    )
    table = load_parquet(path, label="ill", id="who", ignore=["note"], columns=JOB, name="n")
    assert table.feature_names == ("age", "rich", "size", "job=clerk", "job=nurse")
    np.testing.assert_array_equal(table.features, [[30, 1, 1.5, 0, 1], [41, 0, 2.5, 1, 0], [52, 1, -1, 0, 1]])
    assert table.ids is not None
    assert table.ids.to_rows() == [("11",), ("12",), ("13",)]
    assert table.labels is not None
    assert table.labels.tolist() == ["no", "yes", "no"]


def test_nulls_are_counted_and_filled(write: Any) -> None:
    path = write({"a": [1, None, None], "job": [None, "clerk", "nurse"], "ill": [True, False, True]})
    with pytest.raises(InputError, match=r"n: 2 columns .*'a' \(empty cells\), 'job' \(empty cells\)"):
        load_parquet(path, label="ill", columns=JOB, name="n")
    specs = ColumnSpecs((ColumnSpec("a", fill=5), ColumnSpec("job", ("clerk", "nurse"), fill="nurse")))
    table = load_parquet(path, label="ill", columns=specs)
    np.testing.assert_array_equal(table.features, [[1, 0, 1], [5, 1, 0], [5, 0, 1]])
    assert table.notes[0] == "2 empty cells of column 'a' filled as the job says"
    assert table.labels is not None
    assert table.labels.tolist() == [1.0, 0.0, 1.0]


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"a": ["patient-4711", "x"], "y": [0, 1]}, r"column 'a' holds texts; .*row 1.*\[columns.a\] categories"),
        ({"a": [datetime.date(2020, 1, 1)] * 2, "y": [0, 1]}, r"'a' holds dates.*dates = "),
        ({"a": [[1], [2]], "y": [0, 1]}, "'a' is of a type.*got list"),
        ({"a": [2**60, 1], "y": [0, 1]}, "'a' holds whole numbers that float64 cannot"),
        ({"a": [1, 2], "y": [0, None]}, "'y' has rows without a label; .*none in 1 rows, first in row 2"),
        ({"a": [1, 2], "label": [0, 1]}, "no column 'y'"),
    ],
)
def test_parquet_that_is_refused(columns: dict[str, Any], message: str, write: Any) -> None:
    with pytest.raises(InputError, match=message) as caught:
        load_parquet(write(columns), label="y")
    assert "4711" not in str(caught.value)


@pytest.mark.parametrize("ids", [["patient-4711", "patient-4711"], ["patient-4711", None], [0.5, 1.5]])
def test_ids_that_are_refused(ids: list[Any], write: Any) -> None:
    with pytest.raises(InputError, match=r"ids that repeat|without an id|texts, whole numbers or dates") as caught:
        load_parquet(write({"a": [1, 2], "who": ids}), id="who")
    assert "4711" not in str(caught.value)


def test_other_bytes_are_no_parquet(tmp_path: Path, write: Any) -> None:
    whole = write({"a": [1, 2], "y": [0, 1]}).read_bytes()
    path = tmp_path / "broken.parquet"
    for content in (b"a,y\n1,0\n", whole[:-5], whole[: len(whole) // 2]):
        path.write_bytes(content)
        with pytest.raises(InputError):
            load_parquet(path)
    with pytest.raises(InputError, match="is not there"):
        load_parquet(tmp_path / "missing.parquet")


def test_without_pyarrow_the_cure_is_the_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def refuse(name: str, *arguments: Any, **more: Any) -> Any:
        if name.startswith("pyarrow"):
            raise ModuleNotFoundError("No module named 'pyarrow'")
        return real(name, *arguments, **more)

    monkeypatch.setattr(builtins, "__import__", refuse)
    with pytest.raises(InputError, match=r"pip install 'hekat\[parquet\]'"):
        load_table("parquet", {"path": "d.parquet"}, tmp_path, name="n", classes=None)


# --- npy ---------------------------------------------------------------------------------------------------


def test_npy_arrays_side_by_side(tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", np.eye(2, dtype=np.int8))
    np.save(tmp_path / "y.npy", np.array(["no", "yes"]))
    table = load_table("npy", {"features": "x.npy", "labels": "y.npy"}, tmp_path, name="n", classes=("no", "yes"))
    np.testing.assert_array_equal(table.features, np.eye(2))
    assert table.feature_names == ("column_1", "column_2")
    assert table.labels is not None
    assert table.labels.tolist() == [0, 1]
    assert load_npy(tmp_path / "x.npy").labels is None


def test_npy_that_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "x.npy"
    np.save(path, np.array([[None]]))
    with pytest.raises(InputError, match="Python objects"):
        load_npy(path)
    np.save(path, np.zeros(3))
    with pytest.raises(InputError, match="not a table"):
        load_npy(path)
    np.save(path, np.zeros((3, 2)))
    np.save(tmp_path / "y.npy", np.zeros(2))
    with pytest.raises(InputError, match="one label for each row"):
        load_npy(path, labels=tmp_path / "y.npy")
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(InputError, match=r"cannot be read as .npy"):
        load_npy(path)
    with path.open("wb") as file:
        np.savez(file, features=np.eye(2))
    with pytest.raises(InputError, match=r'a .npz archive; cure: .*source = "npz"'):
        load_npy(path)
