"""A digest of rows is the same whatever a job makes of them, and another one for other rows."""

from __future__ import annotations

import hashlib
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hekat.data import ColumnSpec, ColumnSpecs, Table, load_table, rows_digest
from hekat.data.features import to_sparse
from hekat.data.raw_table import RawTable

COLUMNS = ("age", "dose", "sex", "unit")
ROWS = (("41", "0.5", "1", "ward 3"), ("7", "", "2", "home"), ("41", "-0", "1", "home"), ("7", "", "2", "home"))
LABELS = ("yes", "no", "no", "yes")
UNITS = ColumnSpec("unit", categories=("home", "ward 3"))
DOSES = ColumnSpec("dose", fill=0.25)
SPECS = (UNITS, DOSES)


def write(folder: Path, rows: Any = ROWS, columns: Any = COLUMNS, name: str = "rows.csv", separator: str = ",") -> None:
    lines = [(*columns, "ill"), *((*row, label) for row, label in zip(rows, LABELS, strict=False))]
    (folder / name).write_text("".join(separator.join(line) + "\n" for line in lines))


def digest(
    folder: Path, *specs: ColumnSpec, classes: Any = ("no", "yes"), path: str = "rows.csv", **others: Any
) -> bytes:
    options = {
        "path": path,
        "label": "ill",
        **{key: others.pop(key) for key in ("separator", "decimal") if key in others},
    }
    table = load_table(
        "csv",
        options,
        folder,
        name="n",
        classes=classes,
        columns=ColumnSpecs(specs or SPECS),
        digest_rows=True,
        **others,
    )
    assert table.rows_digest is not None
    return table.rows_digest


def test_what_a_job_says_of_columns_and_labels_changes_nothing(tmp_path: Path) -> None:
    write(tmp_path)
    first = digest(tmp_path)
    assert digest(tmp_path, UNITS, ColumnSpec("dose", fill=7)) == first
    assert digest(tmp_path, ColumnSpec("unit", categories=("home",), other=True), DOSES) == first
    assert digest(tmp_path, UNITS, ColumnSpec("dose", categories=("0.5",), other=True, fill="other")) == first
    assert digest(tmp_path, UNITS, DOSES, ColumnSpec("age", categories=("41", "7"))) == first
    assert digest(tmp_path, UNITS, DOSES, ColumnSpec("age", categories=("41",), other=True), sparse=True) == first
    assert digest(tmp_path, sparse=True) == first
    assert digest(tmp_path, classes=("yes", "no")) == first


def test_order_of_rows_and_columns_and_the_writing_of_numbers_change_nothing(tmp_path: Path) -> None:
    write(tmp_path)
    first = digest(tmp_path)
    write(tmp_path, ROWS[::-1])
    assert digest(tmp_path) == first
    write(tmp_path, [row[::-1] for row in ROWS], COLUMNS[::-1])
    assert digest(tmp_path) == first
    write(tmp_path, (("+41.0", "5e-1", "1", "ward 3"), *ROWS[1:]))
    assert digest(tmp_path) == first
    write(tmp_path, [tuple(cell.replace(".", ",") for cell in row) for row in ROWS], separator=";")
    comma = {"separator": ";", "decimal": ","}
    assert digest(tmp_path, **comma) == first
    doses = ColumnSpec("dose", categories=("0,5",), other=True, fill="other")
    assert digest(tmp_path, UNITS, doses, **comma) == first


@pytest.mark.parametrize(
    ("rows", "columns"),
    [
        (ROWS[:3], COLUMNS),
        ((*ROWS[:3], ("8", "", "2", "home")), COLUMNS),
        ((*ROWS[:3], ("7", "0", "2", "home")), COLUMNS),
        ((*ROWS[:3], ("7", "", "2", "ward 3")), COLUMNS),
        (ROWS, ("years", *COLUMNS[1:])),
        ((("41", "0.5", "1", "ward 3"), ("7", "", "1", "home"), ("41", "0", "2", "home"), ROWS[3]), COLUMNS),
        ([(row[2], row[1], row[0], row[3]) for row in ROWS], COLUMNS),
    ],
    ids=[
        "a row less",
        "another number",
        "0 for nothing",
        "another text",
        "another name",
        "other rows",
        "other columns",
    ],
)
def test_other_rows_have_another(rows: Any, columns: Any, tmp_path: Path) -> None:
    write(tmp_path)
    first = digest(tmp_path)
    write(tmp_path, rows, columns)
    assert digest(tmp_path) != first


def test_a_matrix_has_the_digest_of_the_same_numbers_in_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(4)
    features = rng.normal(size=(30, 3)) * (rng.random((30, 3)) < 0.5)
    features[4] = 0.0
    names, labels = np.array(["b", "c", "a"]), np.arange(30) % 2
    np.savez(tmp_path / "rows.npz", features=features, labels=labels, feature_names=names)
    columns = ",".join((*names, "ill"))
    lines = [",".join(map(repr, [*map(float, row), int(label)])) for row, label in zip(features, labels, strict=True)]
    (tmp_path / "rows.csv").write_text("\n".join([columns, *lines]))

    def load(kind: str, **others: Any) -> bytes | None:
        options = {"path": f"rows.{kind}"} | ({"label": "ill"} if kind == "csv" else {})
        return load_table(kind, options, tmp_path, name="n", classes=("0", "1"), digest_rows=True, **others).rows_digest

    first = load("npz")
    assert first is not None
    assert load("npz", sparse=True) == load("csv") == load("csv", sparse=True) == first
    assert load("npz", columns=ColumnSpecs((ColumnSpec("b", fill=0.0),))) == first
    monkeypatch.setattr("hekat.data.rows_digest._BLOCK_CELLS", 7)
    assert load("npz") == load("csv") == first


def test_sparse_rows_have_the_digest_of_dense_ones(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "rows.svm").write_text("1 2:0.5 11:3\n-1 1:2 3:0\n1\n-1 2:0.5\n")
    options = {"path": "rows.svm", "columns": 11}

    def load(**others: Any) -> Table:
        return load_table("libsvm", options, tmp_path, name="n", classes=("a", "b"), digest_rows=True, **others)

    first = load(sparse=True)
    np.savez(tmp_path / "rows.npz", features=load().features, labels=[0] * 4, feature_names=first.feature_names)
    dense = load_table("npz", {"path": "rows.npz"}, tmp_path, name="n", classes=("a", "b"), digest_rows=True)
    assert first.rows_digest == load().rows_digest == dense.rows_digest
    monkeypatch.setattr("hekat.data.rows_digest._BLOCK_CELLS", 1)
    assert load(sparse=True).rows_digest == first.rows_digest


def test_there_is_none_unless_asked_for_and_none_of_a_part(tmp_path: Path) -> None:
    write(tmp_path)
    options = {"path": "rows.csv", "label": "ill"}
    specs = ColumnSpecs(SPECS)
    assert load_table("csv", options, tmp_path, name="n", classes=("no", "yes"), columns=specs).rows_digest is None
    table = load_table("csv", options, tmp_path, name="n", classes=("no", "yes"), columns=specs, digest_rows=True)
    assert table.rows_digest is not None
    assert table.take(np.array([0, 1])).rows_digest is None


@pytest.mark.parametrize("seed", range(4))
def test_it_is_the_hash_of_the_sorted_hashes_of_rows_as_release_records_hold_it(seed: int) -> None:
    random = np.random.default_rng(seed)
    features = random.normal(size=(300, 7)).round(1) * (random.random((300, 7)) < (0.5 if seed % 2 else 1.0))
    names = ("g", "b", "ä", "d", "a", "f", "c")
    order = sorted(range(7), key=names.__getitem__)
    rows = []
    for row in features:
        pairs = [(place, struct.pack("<d", row[column])) for place, column in enumerate(order) if row[column]]
        rows.append(hashlib.sha256(b"".join(struct.pack("<Q", place) + bits for place, bits in pairs)).digest())
    head = b"hekat/rows/1" + struct.pack(">Q", 7)
    head += b"".join(struct.pack(">Q", len(names[one].encode())) + names[one].encode() for one in order)
    expected = hashlib.sha256(head + b"".join(sorted(rows))).digest()
    columns = {name: features[:, number] for number, name in enumerate(names)}
    assert rows_digest.digest_of_columns(RawTable("n", columns, 300)) == expected
    assert rows_digest.digest_of_features(features, names) == expected
    assert rows_digest.digest_of_features(to_sparse(features), names) == expected
