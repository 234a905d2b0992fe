"""Loads a table by the kind of its source, and makes it ready for a model."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hekat.data.check import check_finite, check_for_training, check_has_rows
from hekat.data.column_specs import ColumnSpecs
from hekat.data.csv_dialect import CsvDialect
from hekat.data.csv_file import csv_column_names, load_csv
from hekat.data.encode_columns import encode_table
from hekat.data.labels import encode_labels
from hekat.data.libsvm_file import load_libsvm
from hekat.data.npy_file import load_npy
from hekat.data.npz_file import load_npz
from hekat.data.parquet_file import load_parquet, parquet_column_names
from hekat.data.python_source import load_python
from hekat.data.table import Table
from hekat.errors import InputError


@dataclass(frozen=True)
class TableForm:
    """What a job says of every table: its classes (None: a regression), its columns, and whether rows stay sparse."""

    classes: tuple[str, ...] | None
    columns: ColumnSpecs = field(default_factory=ColumnSpecs)
    sparse: bool = False


def load_table(
    kind: str,
    options: Mapping[str, Any],
    folder: Path,
    *,
    name: str,
    classes: Sequence[str] | None,
    columns: ColumnSpecs | None = None,
    sparse: bool = False,
    for_training: bool = True,
) -> Table:
    """The checked table of a source: columns encoded as `columns` say, labels by `classes` (None: a regression).

    `kind` and its options are those of the site file (docs/data.md). Paths are relative to `folder`. With `sparse` rows
    are held sparse whatever the source is, otherwise dense. With `for_training` the table must have labels and two
    rows. Raises InputError.
    """
    if kind not in _LOADERS:
        raise InputError("there is no such kind of source", expected=" or ".join(SOURCE_KINDS), got=repr(kind))
    form = TableForm(None if classes is None else tuple(classes), columns or ColumnSpecs(), sparse)
    table = _LOADERS[kind](options, folder, name, form)
    check_has_rows(table)
    check_finite(table)
    table = encode_labels(table, classes)
    if for_training:
        check_for_training(table)
    return table


def named_columns(kind: str, options: Mapping[str, Any], folder: Path) -> tuple[str, ...] | None:
    """The names of all columns of a source that may hold any kind of column, features or not; None for a source that
    is a matrix of numbers. Raises InputError."""
    if kind == "csv":
        return csv_column_names(folder / options["path"], _dialect(options))
    return parquet_column_names(folder / options["path"]) if kind == "parquet" else None


Loader = Callable[[Mapping[str, Any], Path, str, TableForm], Table]


def _csv(options: Mapping[str, Any], folder: Path, name: str, form: TableForm) -> Table:
    return load_csv(
        folder / options["path"],
        **_chosen(options),
        dialect=_dialect(options),
        columns=form.columns,
        sparse=form.sparse,
        name=name,
    )


def _parquet(options: Mapping[str, Any], folder: Path, name: str, form: TableForm) -> Table:
    path = folder / options["path"]
    return load_parquet(path, **_chosen(options), columns=form.columns, sparse=form.sparse, name=name)


def _libsvm(options: Mapping[str, Any], folder: Path, name: str, form: TableForm) -> Table:
    zero_based = bool(options.get("zero_based", False))
    table = load_libsvm(folder / options["path"], columns=options["columns"], zero_based=zero_based, name=name)
    return encode_table(table, form.columns, sparse=form.sparse)


def _npz(options: Mapping[str, Any], folder: Path, name: str, form: TableForm) -> Table:
    table = load_npz(folder / options["path"], labels=_beside(options, folder), name=name)
    return encode_table(table, form.columns, sparse=form.sparse)


def _npy(options: Mapping[str, Any], folder: Path, name: str, form: TableForm) -> Table:
    table = load_npy(folder / options["features"], labels=_beside(options, folder), name=name)
    return encode_table(table, form.columns, sparse=form.sparse)


def _python(options: Mapping[str, Any], folder: Path, name: str, form: TableForm) -> Table:
    table = load_python(options["function"], folder, options.get("arguments"), name=name)
    return encode_table(table, form.columns, sparse=form.sparse)


def _dialect(options: Mapping[str, Any]) -> CsvDialect:
    return CsvDialect(
        **{key: options[key] for key in ("separator", "decimal", "encoding", "missing") if key in options}
    )


def _chosen(options: Mapping[str, Any]) -> dict[str, Any]:
    return {"label": options.get("label"), "id": options.get("id"), "ignore": tuple(options.get("ignore") or ())}


def _beside(options: Mapping[str, Any], folder: Path) -> Path | None:
    return folder / options["labels"] if options.get("labels") else None


_LOADERS: dict[str, Loader] = {
    "csv": _csv,
    "parquet": _parquet,
    "libsvm": _libsvm,
    "npz": _npz,
    "npy": _npy,
    "python": _python,
}
SOURCE_KINDS = tuple(_LOADERS)
