"""Made rows for a first run: a table for each party and a common test set, small, and the same every time.

Three columns of numbers follow a normal distribution; the label depends on two of them and on chance, so that a model
learns most of it and not all. Nobody's data are in them.
"""

from __future__ import annotations

import csv
import io
import sqlite3
from typing import Any

import numpy as np
import numpy.typing as npt

from hekat.errors import InputError
from hekat.job.new.new_job import EXAMPLE_COLUMNS, EXAMPLE_MODULE, EXAMPLE_TABLE, NewJob

ROWS_OF_A_PARTY = 60
ROWS_OF_THE_TEST = 200
# Units on the way from a standard normal: mean and spread of each column.
_MEANS, _SPREADS = (50.0, 3.0, 12.0), (15.0, 1.0, 4.0)

Rows = tuple[npt.NDArray[np.float64], npt.NDArray[np.str_] | npt.NDArray[np.float64]]


def example_files(job: NewJob) -> dict[str, bytes]:
    """Every data file of the example by its path beside the site file."""
    if job.data_kind == "python":
        return {f"{EXAMPLE_MODULE}.py": _module_text(job).encode()}
    names = [*job.parties, job.test_name]
    tables = {name: make_rows(job, number) for number, name in enumerate(names)}
    if job.data_kind == "libsvm":
        return {job.path_of(name): _write_libsvm(rows, job.classes) for name, rows in tables.items()}
    if job.data_kind == "npy":
        files = {job.path_of(name): _write_npy(rows[0]) for name, rows in tables.items()}
        return files | {job.labels_path_of(name): _write_npy(rows[1]) for name, rows in tables.items()}
    return {job.path_of(name): _WRITERS[job.data_kind](rows, job.label) for name, rows in tables.items()}


def make_rows(job: NewJob, number: int) -> Rows:
    """Features and labels of table `number`; the last one, after the parties', is the test set."""
    rng = np.random.default_rng([2025, number])
    count = ROWS_OF_THE_TEST if number == len(job.parties) else ROWS_OF_A_PARTY
    drawn = rng.normal(size=(count, len(EXAMPLE_COLUMNS)))
    score = drawn[:, 0] - 0.5 * drawn[:, 1] + 0.4 * rng.normal(size=count)
    features = np.round(drawn * _SPREADS + _MEANS, 2)
    if not job.classes:
        return features, np.round(score, 3)
    # Cuts at equal shares of a score of this spread, so that every class has rows at every party.
    cuts = np.quantile(np.random.default_rng(1).normal(size=4000) * 1.19, _inner_shares(len(job.classes)))
    return features, np.array(job.classes)[np.searchsorted(cuts, score)]


def _inner_shares(count: int) -> npt.NDArray[np.float64]:
    return np.arange(1, count) / count


def _write_csv(rows: Rows, label: str) -> bytes:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow([*EXAMPLE_COLUMNS, label])
    writer.writerows([*values, answer] for values, answer in zip(rows[0].tolist(), rows[1].tolist(), strict=True))
    return text.getvalue().encode()


def _write_libsvm(rows: Rows, classes: tuple[str, ...]) -> bytes:
    """Labels are numbers there: a class is its place among the job's classes."""
    labels = rows[1].tolist() if not classes else [classes.index(label) for label in rows[1].tolist()]
    lines = [
        f"{label} " + " ".join(f"{place}:{value}" for place, value in enumerate(values, 1))
        for label, values in zip(labels, rows[0].tolist(), strict=True)
    ]
    return ("\n".join(lines) + "\n").encode()


def _write_npy(values: npt.NDArray[Any]) -> bytes:
    buffer = io.BytesIO()
    np.save(buffer, values, allow_pickle=False)
    return buffer.getvalue()


def _write_parquet(rows: Rows, label: str) -> bytes:
    try:
        import pyarrow as arrow
        from pyarrow import parquet
    except ImportError:
        raise InputError(
            "Parquet files cannot be written here",
            expected="the package pyarrow",
            got="none",
            cure="pip install 'hekat[parquet]'",
        ) from None
    columns = {name: rows[0][:, number] for number, name in enumerate(EXAMPLE_COLUMNS)} | {label: rows[1].tolist()}
    buffer = io.BytesIO()
    parquet.write_table(arrow.table(columns), buffer)
    return buffer.getvalue()


def _write_npz(rows: Rows, label: str) -> bytes:
    buffer = io.BytesIO()
    np.savez(buffer, allow_pickle=False, features=rows[0], labels=rows[1], feature_names=np.array(EXAMPLE_COLUMNS))
    return buffer.getvalue()


def _write_sql(rows: Rows, label: str) -> bytes:
    """A database of SQLite."""
    names = ", ".join(f'"{name}"' for name in (*EXAMPLE_COLUMNS, label.replace('"', '""')))
    with sqlite3.connect(":memory:") as database:
        database.execute(f"CREATE TABLE {EXAMPLE_TABLE} ({names})")
        lines = [(*values, answer) for values, answer in zip(rows[0].tolist(), rows[1].tolist(), strict=True)]
        database.executemany(f"INSERT INTO {EXAMPLE_TABLE} VALUES ({', '.join('?' * len(lines[0]))})", lines)  # noqa: S608  # the table's name is our own
        database.commit()
        return database.serialize()


def _write_excel(rows: Rows, label: str) -> bytes:
    try:
        import openpyxl
    except ImportError:
        raise InputError(
            "Excel files cannot be written here",
            expected="the package openpyxl",
            got="none",
            cure="pip install 'hekat[excel]'",
        ) from None
    book = openpyxl.Workbook()
    book.active.append([*EXAMPLE_COLUMNS, label])
    for values, answer in zip(rows[0].tolist(), rows[1].tolist(), strict=True):
        book.active.append([*values, answer])
    buffer = io.BytesIO()
    book.save(buffer)
    return buffer.getvalue()


_WRITERS = {
    "csv": _write_csv,
    "parquet": _write_parquet,
    "npz": _write_npz,
    "sql": _write_sql,
    "excel": _write_excel,
}


def _module_text(job: NewJob) -> str:
    """A module that a site would write: from names to (features, labels, column names)."""
    seeds = {name: number for number, name in enumerate([*job.parties, job.test_name])}
    labels = "score" if not job.classes else f"np.array({list(job.classes)!r})[np.searchsorted(CUTS, score)]"
    cuts = [float(share) for share in np.round(_inner_shares(len(job.classes) or 2) * 2 - 1, 3)]
    return f'''"""Rows of each party, made up here: read your own instead, from a database or any file."""

import numpy as np

COLUMNS = {EXAMPLE_COLUMNS!r}
SEEDS = {seeds!r}
CUTS = {cuts!r}


def load(who):
    """(features, labels, column names) of one party; labels are one of the job's classes, or numbers."""
    rng = np.random.default_rng(SEEDS[who])
    features = rng.normal(size=({ROWS_OF_A_PARTY}, len(COLUMNS)))
    score = features[:, 0] - 0.5 * features[:, 1] + 0.4 * rng.normal(size=len(features))
    return features, {labels}, COLUMNS
'''
