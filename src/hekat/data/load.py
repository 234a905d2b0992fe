"""Loads a table by the kind of its source, and makes it ready for a model."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from hekat.data.check import (
    check_finite,
    check_for_training,
    check_has_ids,
    check_has_labels,
    check_has_no_labels,
    check_has_rows,
)
from hekat.data.columns.encode import encode_table
from hekat.data.columns.specs import ColumnSpecs
from hekat.data.labels import encode_labels
from hekat.data.sources.csv_dialect import CsvDialect
from hekat.data.sources.csv_file import csv_column_names, load_csv
from hekat.data.sources.libsvm_file import load_libsvm
from hekat.data.sources.npy_file import load_npy
from hekat.data.sources.npz_file import load_npz
from hekat.data.sources.parquet_file import load_parquet, parquet_column_names
from hekat.data.sources.python_source import load_python
from hekat.data.table import Table
from hekat.errors import InputError


@dataclass(frozen=True)
class TableForm:
    """What a job says of every table: its classes (None: a regression), its columns, and whether rows stay sparse.

    `digest_rows` asks for a digest of the rows before any of that.
    """

    classes: tuple[str, ...] | None
    columns: ColumnSpecs = field(default_factory=ColumnSpecs)
    sparse: bool = False
    digest_rows: bool = False


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
    digest_rows: bool = False,
) -> Table:
    """The checked table of a source: columns encoded as `columns` say, labels by `classes` (None: a regression).

    `kind` and its options are those of the site file (docs/data.md). Paths are relative to `folder`. With `sparse` rows
    are held sparse whatever the source is, otherwise dense. With `for_training` the table must have labels and two
    rows, with `digest_rows` it holds a digest of them. Raises InputError.
    """
    form = TableForm(None if classes is None else tuple(classes), columns or ColumnSpecs(), sparse, digest_rows)
    table = encode_labels(_load_checked(kind, options, folder, name, form), classes)
    if for_training:
        check_for_training(table)
    return table


def load_vertical_table(
    kind: str,
    options: Mapping[str, Any],
    folder: Path,
    *,
    name: str,
    is_labelled: bool | None,
    classes: Sequence[str] | None,
    columns: ColumnSpecs | None = None,
    sparse: bool = False,
    needs_ids: bool = True,
) -> Table:
    """As `load_table`, of a party that holds columns of its own: the table has labels where `is_labelled`, and ids.

    With `is_labelled` None labels may be there or not: rows to predict for. Without `needs_ids` so may ids: parties
    hold the same rows in the same order. `columns` may describe columns of other parties too: those that the table
    lacks are passed over (see `check_all_used`). The notes say what kind of ids it has. One row is enough here: how
    many rows there are is a matter of the intersection. Raises InputError.
    """
    specs = replace(columns or ColumnSpecs(), everywhere=False)
    form = TableForm(None if classes is None else tuple(classes), specs, sparse)
    table = _load_checked(kind, options, folder, name, form)
    if needs_ids:
        check_has_ids(table)
    if is_labelled is not None:
        (check_has_labels if is_labelled else check_has_no_labels)(table)
    if needs_ids and table.ids is not None:
        table = replace(table, notes=(*table.notes, table.ids.describe()))
    return encode_labels(table, classes)


def _load_checked(kind: str, options: Mapping[str, Any], folder: Path, name: str, form: TableForm) -> Table:
    """The rows of a source, at least one and all finite; labels as they were read."""
    check_kind(kind)
    table = _LOADERS[kind](options, folder, name, form)
    check_has_rows(table)
    check_finite(table)
    return table


def check_kind(kind: str) -> None:
    """Raise InputError for what is no kind of source."""
    if kind not in SOURCE_KINDS:
        raise InputError("there is no such kind of source", expected=" or ".join(SOURCE_KINDS), got=repr(kind))


def named_columns(kind: str, options: Mapping[str, Any], folder: Path) -> tuple[str, ...] | None:
    """The names of all columns of a source that may hold any kind of column, features or not; None for a source that
    is a matrix of numbers. Raises InputError."""
    if kind == "csv":
        return csv_column_names(folder / options["path"], CsvDialect.of_options(options))
    return parquet_column_names(folder / options["path"]) if kind == "parquet" else None


Loader = Callable[[Mapping[str, Any], Path, str, TableForm], Table]


def _csv(options: Mapping[str, Any], folder: Path, name: str, form: TableForm) -> Table:
    return load_csv(
        folder / options["path"],
        **_chosen(options),
        dialect=CsvDialect.of_options(options),
        columns=form.columns,
        sparse=form.sparse,
        digest_rows=form.digest_rows,
        name=name,
    )


def _parquet(options: Mapping[str, Any], folder: Path, name: str, form: TableForm) -> Table:
    path = folder / options["path"]
    chosen = _chosen(options)
    return load_parquet(
        path, **chosen, columns=form.columns, sparse=form.sparse, digest_rows=form.digest_rows, name=name
    )


def _libsvm(options: Mapping[str, Any], folder: Path, name: str, form: TableForm) -> Table:
    zero_based = bool(options.get("zero_based", False))
    table = load_libsvm(folder / options["path"], columns=options["columns"], zero_based=zero_based, name=name)
    return encode_table(table, form.columns, sparse=form.sparse, digest_rows=form.digest_rows)


def _npz(options: Mapping[str, Any], folder: Path, name: str, form: TableForm) -> Table:
    table = load_npz(folder / options["path"], labels=_beside(options, folder, "labels"), name=name)
    return encode_table(table, form.columns, sparse=form.sparse, digest_rows=form.digest_rows)


def _npy(options: Mapping[str, Any], folder: Path, name: str, form: TableForm) -> Table:
    if not options.get("features"):
        raise InputError(
            f"{name} has no features",
            expected="a .npy file of features",
            got="ids only",
            cure="say features = FILE in the site file; ids alone serve for a set intersection",
        )
    path, ids = folder / options["features"], _beside(options, folder, "ids")
    table = load_npy(path, labels=_beside(options, folder, "labels"), ids=ids, name=name)
    return encode_table(table, form.columns, sparse=form.sparse, digest_rows=form.digest_rows)


def _python(options: Mapping[str, Any], folder: Path, name: str, form: TableForm) -> Table:
    table = load_python(options["function"], folder, options.get("arguments"), name=name)
    return encode_table(table, form.columns, sparse=form.sparse, digest_rows=form.digest_rows)


def _chosen(options: Mapping[str, Any]) -> dict[str, Any]:
    return {"label": options.get("label"), "id": options.get("id"), "ignore": tuple(options.get("ignore") or ())}


def _beside(options: Mapping[str, Any], folder: Path, key: str) -> Path | None:
    return folder / options[key] if options.get(key) else None


_LOADERS: dict[str, Loader] = {
    "csv": _csv,
    "parquet": _parquet,
    "libsvm": _libsvm,
    "npz": _npz,
    "npy": _npy,
    "python": _python,
}
SOURCE_KINDS = tuple(_LOADERS)
