"""Tables of parties that hold different columns of the same records: who has labels, ids, gaps, constant columns."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array, save_npz

from hekat.data import (
    ColumnSpec,
    ColumnSpecs,
    Table,
    check_all_used,
    find_constant_columns,
    is_dense,
    load_table,
    load_vertical_table,
)
from hekat.errors import InputError

JOB = ColumnSpecs((ColumnSpec("job", ("clerk", "nurse")), ColumnSpec("days", fill=7.0)))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "guest.csv").write_text("who,job,y\np,nurse,no\nq,clerk,yes\n")
    (tmp_path / "host.csv").write_text("who,days,size\nq,,1\np,2,3\n")
    (tmp_path / "only_labels.csv").write_text("who,y\np,no\nq,yes\n")
    np.savez(tmp_path / "host.npz", features=np.array([[np.nan], [1]]), ids=np.array([1, 2]), names=np.array(["days"]))
    np.savez(tmp_path / "labelled.npz", features=np.eye(2), ids=np.array([1, 2]), labels=np.array([5, 6]))
    np.savez(tmp_path / "no_columns.npz", features=np.zeros((2, 0)), ids=np.array([1, 2]), labels=np.array([0, 1]))
    np.savez(tmp_path / "no_ids.npz", features=np.eye(2), labels=np.array([0, 1]))
    return tmp_path


def load(
    kind: str,
    options: dict[str, Any],
    folder: Path,
    *,
    is_labelled: bool | None,
    columns: ColumnSpecs | None = JOB,
    sparse: bool = False,
) -> Table:
    classes = ("no", "yes")
    return load_vertical_table(
        kind, options, folder, name="n", is_labelled=is_labelled, classes=classes, columns=columns, sparse=sparse
    )


def test_guest_and_host_take_what_the_job_says_of_their_own_columns(folder: Path) -> None:
    guest = load("csv", {"path": "guest.csv", "id": "who", "label": "y"}, folder, is_labelled=True)
    host = load("csv", {"path": "host.csv", "id": "who"}, folder, is_labelled=False)
    assert (guest.feature_names, host.feature_names) == (("job=clerk", "job=nurse"), ("days", "size"))
    np.testing.assert_array_equal(host.features, [[7, 1], [2, 3]])
    assert guest.labels is not None
    assert guest.labels.tolist() == [0, 1]
    assert host.labels is None
    assert guest.ids is not None
    assert host.ids is not None
    assert (guest.ids.to_rows(), host.ids.to_rows()) == ([("p",), ("q",)], [("q",), ("p",)])
    assert host.notes == ("1 empty cell of column 'days' filled as the job says", "ids are texts")
    check_all_used([guest, host], JOB)
    for tables, name in [([guest], "days"), ([host], "job")]:
        with pytest.raises(InputError, match=f"no party has a feature column '{name}', which the job describes"):
            check_all_used(tables, JOB)


def test_a_host_of_an_array_source(folder: Path) -> None:
    table = load("npz", {"path": "host.npz"}, folder, is_labelled=False)
    np.testing.assert_array_equal(table.features, [[7], [1]])
    assert table.notes[-1].startswith("ids are whole numbers: ")


def test_a_sparse_host_beside_a_guest_whose_columns_are_described(folder: Path) -> None:
    (folder / "rows.py").write_text(
        "from scipy.sparse import csr_array\n"
        "def load(name): return csr_array([[1.0], [0.0]]), None, [name], [1, 2]\n"
        "def single(): return csr_array([[1.0]]), None, ['a'], [1]\n"
    )
    source = {"function": "rows:load", "arguments": {"name": "words"}}
    table = load("python", source, folder, is_labelled=False, sparse=True)
    assert not is_dense(table.features)
    with pytest.raises(InputError, match=r"n is sparse, and the job describes columns.*got \[columns.days\]"):
        load("python", {**source, "arguments": {"name": "days"}}, folder, is_labelled=False, sparse=True)
    one = load("python", {"function": "rows:single"}, folder, is_labelled=False)
    assert len(one) == 1, "how many rows there are is a matter of the intersection"


@pytest.mark.parametrize(
    ("kind", "options", "is_labelled", "message"),
    [
        ("csv", {"path": "host.csv", "id": "who"}, True, "n has no labels"),
        (
            "csv",
            {"path": "guest.csv", "id": "who", "label": "y"},
            False,
            "n has labels, and so has another party; .*got labels at a host; cure: .*ignore instead of label",
        ),
        # Labels that are none of the job's classes: whose they are is answered first.
        ("npz", {"path": "labelled.npz"}, False, "n has labels, and so has another party"),
        ("csv", {"path": "guest.csv", "ignore": ("who",), "label": "y"}, True, "n has no ids; .*cure: .*id = COLUMN"),
        ("npz", {"path": "no_ids.npz"}, True, "n has no ids; .*cure: .*array ids"),
        ("libsvm", {"path": "d.svm", "columns": 2}, True, "n has no ids; .*libsvm file has no place for ids"),
        (
            "csv",
            {"path": "only_labels.csv", "id": "who", "ignore": ("y",)},
            False,
            "no feature columns; expected at least one column besides label, id and ignore; got none; cure: add",
        ),
        ("npz", {"path": "no_columns.npz"}, False, "n has labels, and so has another party|no feature columns"),
    ],
)
def test_parties_that_do_not_fit_their_part(
    kind: str, options: dict[str, Any], is_labelled: bool, message: str, folder: Path
) -> None:
    (folder / "d.svm").write_text("0 1:1\n1 2:1\n")
    with pytest.raises(InputError, match=message):
        load(kind, options, folder, is_labelled=is_labelled)


@pytest.mark.parametrize("id", ["who", None])
def test_rows_in_the_same_order_need_no_ids(id: str | None, folder: Path) -> None:
    options = {"path": "guest.csv", "id": id, "ignore": () if id else ("who",), "label": "y"}
    table = load_vertical_table(
        "csv", options, folder, name="n", is_labelled=True, classes=("no", "yes"), columns=JOB, needs_ids=False
    )
    assert (table.ids is None, table.notes) == (id is None, ())


def test_a_guest_may_have_labels_alone_and_nobody_else(folder: Path) -> None:
    arrow = pytest.importorskip("pyarrow", reason="needs hekat[parquet]")
    parquet = pytest.importorskip("pyarrow.parquet", reason="needs hekat[parquet]")
    parquet.write_table(arrow.table({"who": [1, 2], "y": ["no", "yes"]}), folder / "d.parquet")
    columns = {"id": "who", "label": "y"}
    for kind, options in (
        ("parquet", {"path": "d.parquet", **columns}),
        ("csv", {"path": "only_labels.csv", **columns}),
    ):
        table = load(kind, options, folder, is_labelled=True)
        assert table.features.shape == (2, 0)
        assert table.labels.tolist() == [0, 1]
        with pytest.raises(InputError, match=r"no feature columns; .*cure: add a column"):
            load(kind, {**options, "label": None, "ignore": ("y",)}, folder, is_labelled=False)
        with pytest.raises(InputError, match=r"no feature columns; .*cure: add a column"):
            load_table(kind, {**options, "id": None, "ignore": ("who",)}, folder, name="n", classes=("no", "yes"))


def test_gaps_at_a_host_are_refused_unless_the_job_fills_them(folder: Path) -> None:
    save_npz(folder / "gaps.npz", csr_array([[np.nan], [1.0]]))
    (folder / "gaps.py").write_text(
        "import numpy as np\ndef load(): return np.array([[1.0], [np.nan]]), None, ['days'], ['p', 'q']\n"
    )
    for kind, options, message in [
        ("csv", {"path": "host.csv", "id": "who"}, "column 'days' has empty cells; .*first in line 2"),
        ("npz", {"path": "host.npz"}, "column 'days' has empty cells; .*first in row 1"),
        ("npz", {"path": "gaps.npz"}, "missing value .*got column 'column_1', row 1"),
        ("python", {"function": "gaps:load"}, "column 'days' has empty cells; .*first in row 2"),
    ]:
        with pytest.raises(InputError, match=message):
            load(kind, options, folder, is_labelled=False, columns=None)
    np.testing.assert_array_equal(
        load("python", {"function": "gaps:load"}, folder, is_labelled=False).features, [[1], [7]]
    )


def test_rows_to_predict_for_may_have_labels(folder: Path) -> None:
    assert load("csv", {"path": "host.csv", "id": "who"}, folder, is_labelled=None).labels is None
    guest = load("csv", {"path": "guest.csv", "id": "who", "label": "y"}, folder, is_labelled=None)
    assert guest.labels is not None


# --- constant columns --------------------------------------------------------------------------------------

ROWS = np.array(
    [
        [0, 5, 0, -1, 1, 0.0, 2],
        [0, 5, 0, -1, 1, -0.0, 2],
        [0, 5, 3, -1, 2, 0.0, 0],
    ]
)
NAMES = tuple("abcdefg")


def test_columns_of_one_value_dense_and_sparse() -> None:
    explicit = csr_array(
        (np.array([0.0, 0.0, 1.0]), np.array([0, 1, 1]), np.array([0, 1, 3])), shape=(2, 3)
    )  # zeros that are stored
    for features in (ROWS, csr_array(ROWS)):
        assert find_constant_columns(Table(features, None, NAMES)) == ("a", "b", "d", "f")
        assert find_constant_columns(Table(features[:1], None, NAMES)) == NAMES
        assert find_constant_columns(Table(features[:0], None, NAMES)) == NAMES
    assert find_constant_columns(Table(explicit, None, ("x", "y", "z"))) == find_constant_columns(
        Table(explicit.toarray(), None, ("x", "y", "z"))
    )


def test_sparse_columns_agree_with_dense_ones() -> None:
    rng = np.random.default_rng(3)
    for _ in range(50):
        rows = rng.integers(-1, 2, (int(rng.integers(1, 5)), 6)).astype(float)
        names = tuple("abcdef")
        dense = find_constant_columns(Table(rows, None, names))
        assert dense == find_constant_columns(Table(csr_array(rows), None, names))
        assert dense == tuple(name for number, name in enumerate(names) if len(set(rows[:, number])) == 1)
