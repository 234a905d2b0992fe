"""Loads a table by the kind of its source, and makes it ready for a model."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any

from hekat.data.check import (
    check_finite,
    check_for_training,
    check_has_columns,
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
from hekat.data.sources.excel_file import excel_column_names, load_excel
from hekat.data.sources.libsvm_file import load_libsvm
from hekat.data.sources.named_columns import NamedColumns
from hekat.data.sources.npy_file import load_npy
from hekat.data.sources.npz_file import load_npz
from hekat.data.sources.parquet_file import load_parquet, parquet_column_names
from hekat.data.sources.python_source import load_python
from hekat.data.sources.sql_source import SqlSource, load_sql, sql_column_names
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
    """The checked table of a source.

    Args:
        kind: One of `SOURCE_KINDS`, as in the site file (docs/how_to/data_sources.md).
        options: The options of that kind, as in the site file.
        folder: What paths are relative to.
        name: What errors call the table.
        classes: The names of the classes, in the job's order; None for a regression.
        columns: How columns become features.
        sparse: Hold the rows as a scipy.sparse.csr_array, whatever the source is; otherwise dense.
        for_training: Refuse a table without labels or with fewer than two rows, and texts that are no category;
            otherwise `unknown` of a column says what these become.
        digest_rows: Keep a digest of the rows.

    Returns:
        The table, with encoded columns and labels.

    Raises:
        InputError: The source cannot be read so, or a check fails.

    Examples:
        >>> from pathlib import Path
        >>> from hekat.data import load_table
        >>> _ = Path("clinic.csv").write_text("age,sick\\n61,yes\\n40,no\\n")
        >>> options = {"path": "clinic.csv", "label": "sick"}
        >>> load_table("csv", options, Path(), name="clinic", classes=("no", "yes")).labels
        array([1, 0])
    """
    specs = replace(ColumnSpecs() if columns is None else columns, for_training=for_training)
    form = TableForm(None if classes is None else tuple(classes), specs, sparse, digest_rows)
    table = _load_checked(kind, options, folder, name, form)
    check_has_columns(table)
    table = encode_labels(table, classes)
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
    for_training: bool = True,
) -> Table:
    """The checked table of a party that holds columns of its own, as `load_table`.

    One row is enough here: how many rows there are is a matter of the intersection.

    Args:
        kind: One of `SOURCE_KINDS`, as in the site file (docs/how_to/data_sources.md).
        options: The options of that kind, as in the site file.
        folder: What paths are relative to.
        name: What errors call the table.
        is_labelled: Whether the table must have labels; None where they may be there or not: rows to predict for. With
            labels, or None, it may have no other columns.
        classes: The names of the classes, in the job's order; None for a regression.
        columns: How columns become features, of other parties too: those that the table lacks are passed over (see
            `check_all_used`).
        sparse: Hold the rows as a scipy.sparse.csr_array, whatever the source is; otherwise dense.
        needs_ids: Refuse a table without ids; not where parties hold the same rows in the same order.
        for_training: Refuse texts that are no category; otherwise `unknown` of a column says what they become.

    Returns:
        The table; its notes say what kind of ids it has.

    Raises:
        InputError: The source cannot be read so, or a check fails.

    Examples:
        >>> from pathlib import Path
        >>> from hekat.data import load_vertical_table
        >>> _ = Path("bank.csv").write_text("customer,income\\nann,100\\nbob,200\\n")
        >>> options = {"path": "bank.csv", "id": "customer"}
        >>> load_vertical_table("csv", options, Path(), name="bank", is_labelled=False, classes=None).ids
        Ids(2 rows, texts)
    """
    specs = replace(ColumnSpecs() if columns is None else columns, everywhere=False, for_training=for_training)
    form = TableForm(None if classes is None else tuple(classes), specs, sparse)
    table = _load_checked(kind, options, folder, name, form)
    if is_labelled is False:
        check_has_columns(table)
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
    """The names of all columns of a source.

    Args:
        kind: One of `SOURCE_KINDS`, as in the site file (docs/how_to/data_sources.md).
        options: The options of that kind, as in the site file.
        folder: What paths are relative to.

    Returns:
        The names, features or not; None for a source that is a matrix of numbers.

    Raises:
        InputError: The source cannot be read so.

    Examples:
        >>> from pathlib import Path
        >>> from hekat.data import named_columns
        >>> _ = Path("clinic.csv").write_text("age,sick\\n61,yes\\n")
        >>> named_columns("csv", {"path": "clinic.csv"}, Path())
        ('age', 'sick')
    """
    if kind == "csv":
        return csv_column_names(folder / options["path"], CsvDialect.of_options(options))
    if kind == "excel":
        return excel_column_names(folder / options["path"], options.get("sheet"))
    if kind == "sql":
        return sql_column_names(SqlSource.of_options(options, folder))
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


def _excel(options: Mapping[str, Any], folder: Path, name: str, form: TableForm) -> Table:
    return load_excel(
        folder / options["path"],
        NamedColumns.of_options(options),
        sheet=options.get("sheet"),
        columns=form.columns,
        sparse=form.sparse,
        digest_rows=form.digest_rows,
        name=name,
    )


def _sql(options: Mapping[str, Any], folder: Path, name: str, form: TableForm) -> Table:
    return load_sql(
        SqlSource.of_options(options, folder),
        NamedColumns.of_options(options),
        columns=form.columns,
        sparse=form.sparse,
        digest_rows=form.digest_rows,
        name=name,
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
    return load_python(
        options["function"],
        folder,
        options.get("arguments"),
        options=NamedColumns.of_options(options),
        columns=form.columns,
        sparse=form.sparse,
        digest_rows=form.digest_rows,
        name=name,
    )


def _chosen(options: Mapping[str, Any]) -> dict[str, Any]:
    named = NamedColumns.of_options(options)
    said = {field.name: getattr(named, field.name) for field in fields(named)}
    del said["missing"]  # a matter of how a CSV file is written
    return said


def _beside(options: Mapping[str, Any], folder: Path, key: str) -> Path | None:
    return folder / options[key] if options.get(key) else None


_LOADERS: dict[str, Loader] = {
    "csv": _csv,
    "parquet": _parquet,
    "sql": _sql,
    "excel": _excel,
    "libsvm": _libsvm,
    "npz": _npz,
    "npy": _npy,
    "python": _python,
}
SOURCE_KINDS = tuple(_LOADERS)
