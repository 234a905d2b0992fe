"""Sparse rows: libsvm and sparse npz files, sparse tables and what is asked of their columns."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from hekat.data import (
    ColumnSpec,
    ColumnSpecs,
    Table,
    check_finite,
    features,
    hold_out_rows,
    is_dense,
    load_libsvm,
    load_npz,
    load_table,
    schema_digest,
)
from hekat.data.columns.moments import column_means, deviation_moments, largest_deviations, largest_magnitudes
from hekat.errors import InputError


def make_rows(seed: int, rows: int = 20, columns: int = 6) -> Any:
    rng = np.random.default_rng(seed)
    dense = np.where(rng.random((rows, columns)) < 0.3, rng.normal(2, 5, (rows, columns)), 0.0)
    dense[:, 0] = 3.5  # a column without zeros
    dense[:, 1] = 0.0
    return sparse.csr_array(dense)


def write(folder: Path, text: str) -> Path:
    path = folder / "data.libsvm"
    path.write_text(text)
    return path


# --- libsvm ------------------------------------------------------------------------------------------------


def test_libsvm_rows_stay_sparse(tmp_path: Path) -> None:
    path = write(tmp_path, "+1 1:0.5 4:-2 # a comment\n\n-1 \n1.0 2:1e3\n")
    table = load_libsvm(path, columns=4, name="n")
    assert not is_dense(table.features)
    np.testing.assert_array_equal(table.features.toarray(), [[0.5, 0, 0, -2], [0, 0, 0, 0], [0, 1000, 0, 0]])
    assert table.feature_names == ("column_1", "column_2", "column_3", "column_4")
    assert table.labels is not None
    assert table.labels.tolist() == ["1", "-1", "1"]
    zero_based = load_libsvm(write(tmp_path, "1 0:5 3:6\n"), columns=4, zero_based=True)
    np.testing.assert_array_equal(zero_based.features.toarray(), [[5, 0, 0, 6]])


def test_libsvm_as_scikit_learn_writes_it(tmp_path: Path) -> None:
    from sklearn.datasets import dump_svmlight_file

    rows = make_rows(seed=1)
    dump_svmlight_file(rows, np.arange(20) % 2, str(tmp_path / "d.svm"), zero_based=False)
    table = load_libsvm(tmp_path / "d.svm", columns=6)
    np.testing.assert_allclose(table.features.toarray(), rows.toarray(), rtol=1e-15)  # it writes 16 digits


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("1 5:4711", "index beyond the columns; expected indices from 1 to 4; got another; cure: raise columns"),
        ("1 0:4711", "index beyond the columns.*zero_based = true"),
        ("1 -1:4711", "index beyond the columns"),
        ("1 2:4711 2:1", "names a column twice"),
        ("1 2:x4711", "holds what is no cell"),
        ("1 4711", "holds what is no cell; .*got no colon"),
        ("1 qid:4711 2:1", "got a query id"),
        ("1 1:2:4711", "holds what is no cell"),
        ("1 2:nan", "no finite number"),
        ("1 2:1e999", "no finite number"),
        ("1 2:4_711", "no finite number"),
        ("x4711 2:1", "does not begin with a label; .*got something else"),
        ("2:4711 3:1", "does not begin with a label; .*got INDEX:VALUE"),
        ("1,4711 2:1", "does not begin with a label; .*got several labels"),
    ],
)
def test_libsvm_lines_that_are_refused(line: str, message: str, tmp_path: Path) -> None:
    path = write(tmp_path, f"1 1:1\n{line}\n")
    with pytest.raises(InputError, match=f"line 2 .*{message}") as caught:
        load_libsvm(path, columns=4)
    assert "4711" not in str(caught.value)


@pytest.mark.parametrize("columns", [0, -1, 2**22 + 1])
def test_column_counts_that_are_refused(columns: int, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="columns refused"):
        load_libsvm(write(tmp_path, "1 1:1\n"), columns=columns)


@given(content=st.binary(min_size=1, max_size=100))
def test_no_bytes_get_past_as_anything_but_a_table_or_a_refusal(
    content: bytes, tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.getbasetemp() / "bytes.libsvm"
    path.write_bytes(content)
    with contextlib.suppress(InputError):
        check_finite(load_libsvm(path, columns=9))


CELLS = st.dictionaries(st.integers(1, 9), st.floats(allow_nan=False, allow_infinity=False), max_size=9)
LINES = st.lists(st.tuples(st.sampled_from(["1", "-1", "2"]), CELLS), min_size=1, max_size=6)


def write_lines(folder: Path, lines: list[tuple[str, dict[int, float]]]) -> Path:
    return write(
        folder, "".join(f"{label} {' '.join(f'{i}:{v!r}' for i, v in sorted(row.items()))}\n" for label, row in lines)
    )


@given(lines=LINES)
def test_every_well_formed_file_is_a_table_of_what_it_says(
    lines: list[tuple[str, dict[int, float]]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    """A loader that refused everything would get past the test above, and not past this one."""
    table = load_libsvm(write_lines(tmp_path_factory.getbasetemp(), lines), columns=9)
    check_finite(table)
    expected = [[row.get(column, 0.0) for column in range(1, 10)] for _, row in lines]
    np.testing.assert_array_equal(table.features.toarray(), expected)
    assert table.labels is not None
    assert table.labels.tolist() == [label for label, _ in lines]


@given(lines=LINES, data=st.data())
def test_a_well_formed_file_with_one_byte_changed_is_a_table_or_a_refusal(
    lines: list[tuple[str, dict[int, float]]], data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Near good files a reader goes astray, not in random bytes."""
    path = write_lines(tmp_path_factory.getbasetemp(), lines)
    content = bytearray(path.read_bytes())
    content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    path.write_bytes(content)
    with contextlib.suppress(InputError):
        table = load_libsvm(path, columns=9)
        check_finite(table)
        assert table.features.shape[1] == 9
        assert table.labels is not None
        assert len(table.labels) == len(table)


# --- npz ---------------------------------------------------------------------------------------------------


def test_sparse_npz_with_labels_beside_or_inside(tmp_path: Path) -> None:
    rows = make_rows(seed=2)
    labels = np.arange(20) % 2
    sparse.save_npz(tmp_path / "rows.npz", rows)
    np.save(tmp_path / "labels.npy", labels)
    np.savez(
        tmp_path / "both.npz", data=rows.data, indices=rows.indices, indptr=rows.indptr, shape=rows.shape, y=labels
    )
    for path, beside in (("rows.npz", tmp_path / "labels.npy"), ("both.npz", None)):
        table = load_npz(tmp_path / path, labels=beside)
        np.testing.assert_array_equal(table.features.toarray(), rows.toarray())
        np.testing.assert_array_equal(table.labels, labels)
    with pytest.raises(InputError, match="given twice"):
        load_npz(tmp_path / "both.npz", labels=tmp_path / "labels.npy")


def parts_of(rows: Any, **changes: Any) -> dict[str, Any]:
    parts = {"data": rows.data, "indices": rows.indices, "indptr": rows.indptr, "shape": np.array(rows.shape)}
    return {key: value for key, value in {**parts, **changes}.items() if value is not None}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"indices": np.array([0, 9])}, "parts that do not fit each other"),
        ({"indices": np.array([0, -1])}, "parts that do not fit each other"),
        ({"indices": np.array([0.0, 1.0])}, "no whole numbers"),
        ({"indptr": np.array([0, 2, 1])}, "parts that do not fit each other"),
        ({"indptr": np.array([0, 1, 3])}, "parts that do not fit each other"),
        ({"indptr": np.array([0, 1])}, "parts that do not fit each other"),
        ({"shape": np.array([2])}, "parts that do not fit each other|not a table"),
        ({"shape": np.array([2, 2**40])}, "too many columns"),
        ({"shape": np.array([-2, 2])}, "parts that do not fit each other"),
        ({"format": np.array(b"csc")}, r"another layout.*X.tocsr\(\)"),
        ({"data": np.array([1 + 2j, 3])}, "not numeric"),
        ({"data": np.array(["a", "b"])}, "not numeric|parts that do not fit"),
        ({"shape": None}, "holds no features"),
    ],
)
def test_sparse_npz_that_is_refused(changes: dict[str, Any], message: str, tmp_path: Path) -> None:
    np.savez(tmp_path / "d.npz", **parts_of(sparse.csr_array(np.eye(2)), **changes))
    with pytest.raises(InputError, match=message):
        load_npz(tmp_path / "d.npz")


# --- tables ------------------------------------------------------------------------------------------------


def test_sparse_tables_are_canonical_and_cannot_be_changed() -> None:
    given = sparse.coo_array(([1.0, 2.0, 4.0], ([0, 0, 1], [1, 1, 0])), shape=(2, 2)).astype(np.float32)
    for rows in (given, given.tocsc(), sparse.csr_matrix(given)):
        table = Table(rows, np.array([0, 1]), ("a", "b"), "n")
        assert table.features.has_canonical_format
        np.testing.assert_array_equal(table.features.toarray(), [[0, 3], [4, 0]])
        assert table.features.dtype == np.float64
        with pytest.raises(ValueError, match="read-only"):
            table.features.data[0] = 9
    assert "2 columns (sparse)" in repr(table)
    dense = Table(np.eye(2), np.array([0, 1]), ("a", "b"), "n")
    assert schema_digest(dense) != schema_digest(table)


def test_ill_formed_sparse_rows_are_refused() -> None:
    rows = sparse.csr_array(np.eye(3))
    rows.indices[1] = 77
    with pytest.raises(InputError, match="not well-formed sparse rows"):
        Table(rows, None, ("a", "b", "c"), "n")


def test_non_finite_cells_of_sparse_rows_are_named() -> None:
    dense = make_rows(seed=3).toarray()
    dense[4, 2], dense[7, 3] = np.nan, np.inf
    rows = sparse.csr_array(dense)
    with pytest.raises(InputError, match=r"missing value.*column 'c', row 5 \(2 rows in all\)"):
        check_finite(Table(rows, None, tuple("abcdef"), "n"))


def test_rows_held_out_stay_sparse() -> None:
    table = Table(make_rows(seed=4), np.arange(20) % 2, tuple("abcdef"), "n")
    kept, held_out = hold_out_rows(table, 0.25, seed=5)
    assert (len(kept), len(held_out)) == (15, 5)
    assert not is_dense(kept.features)


def test_the_job_says_whether_rows_are_sparse(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write(tmp_path, "1 1:0.5 4:-2\n-1 2:1\n")
    options = {"path": path.name, "columns": 4}

    def load(sparse: bool, **more: Any) -> Table:
        return load_table("libsvm", options, tmp_path, name="n", classes=("a", "b"), sparse=sparse, **more)

    np.testing.assert_array_equal(load(sparse=False).features, load(sparse=True).features.toarray())
    assert load(sparse=True).labels.tolist() == [1, 0]
    with pytest.raises(InputError, match=r"is sparse, and the job describes columns"):
        load(sparse=True, columns=ColumnSpecs((ColumnSpec("column_1", fill=1),)))
    monkeypatch.setattr(features, "MAX_DENSE_CELLS", 7)
    with pytest.raises(InputError, match="2 rows of 4 columns; cure: set sparse = true in the job"):
        load(sparse=False)


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_columns_of_sparse_rows_are_those_of_the_dense_ones(seed: int) -> None:
    rows = make_rows(seed)
    dense = rows.toarray()
    rng = np.random.default_rng(seed)
    centre, unit = rng.normal(size=6), rng.uniform(0.5, 2, size=6)
    np.testing.assert_array_equal(largest_magnitudes(rows), largest_magnitudes(dense))
    np.testing.assert_allclose(column_means(rows, unit), column_means(dense, unit), rtol=1e-13)
    np.testing.assert_allclose(largest_deviations(rows, centre, unit), largest_deviations(dense, centre, unit))
    for found, expected in zip(
        deviation_moments(rows, centre, unit), deviation_moments(dense, centre, unit), strict=True
    ):
        np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-15)
