"""Loads the ids of a source alone, for parties that ask which records they share and train on nothing."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from hekat.data.check import ID_CURE
from hekat.data.ids import Ids
from hekat.data.load import check_kind
from hekat.data.sources.csv_dialect import CsvDialect
from hekat.data.sources.csv_file import load_csv_ids
from hekat.data.sources.excel_file import load_excel_ids
from hekat.data.sources.named_columns import NamedColumns
from hekat.data.sources.npy_file import load_npy_ids
from hekat.data.sources.npz_file import load_npz_ids
from hekat.data.sources.parquet_file import load_parquet_ids
from hekat.data.sources.python_source import load_python_ids
from hekat.data.sources.sql_source import SqlSource, load_sql_ids
from hekat.errors import InputError


def load_ids(kind: str, options: Mapping[str, Any], folder: Path, *, name: str) -> Ids:
    """The ids of a source; its other columns may hold anything, also texts and gaps, and need not be there.

    Args:
        kind: One of `SOURCE_KINDS`, as in the site file (docs/how_to/data_sources.md).
        options: The options of that kind, as in the site file.
        folder: What paths are relative to.
        name: What errors call the source.

    Returns:
        The ids.

    Raises:
        InputError: The source has no ids, no rows, rows without an id, or rows that are alike.

    Examples:
        >>> from pathlib import Path
        >>> from hekat.data import load_ids
        >>> _ = Path("bank.csv").write_text("customer,income\\nann,100\\nbob,\\n")
        >>> load_ids("csv", {"path": "bank.csv", "id": "customer"}, Path(), name="bank").to_rows()
        [('ann',), ('bob',)]
    """
    check_kind(kind)
    ids = _LOADERS[kind](options, folder, name)
    if not len(ids):
        raise InputError(
            f"{name} has no rows", expected="at least one row", got="0 rows", cure="check where the data is read"
        )
    return ids


def _csv(options: Mapping[str, Any], folder: Path, name: str) -> Ids:
    id = _required(options, "id", name)
    return load_csv_ids(folder / options["path"], id=id, dialect=CsvDialect.of_options(options), name=name)


def _parquet(options: Mapping[str, Any], folder: Path, name: str) -> Ids:
    return load_parquet_ids(folder / options["path"], id=_required(options, "id", name), name=name)


def _excel(options: Mapping[str, Any], folder: Path, name: str) -> Ids:
    id = _required(options, "id", name)
    return load_excel_ids(folder / options["path"], id=id, sheet=options.get("sheet"), name=name)


def _sql(options: Mapping[str, Any], folder: Path, name: str) -> Ids:
    return load_sql_ids(SqlSource.of_options(options, folder), id=_required(options, "id", name), name=name)


def _npz(options: Mapping[str, Any], folder: Path, name: str) -> Ids:
    return load_npz_ids(folder / options["path"], name=name)


def _npy(options: Mapping[str, Any], folder: Path, name: str) -> Ids:
    return load_npy_ids(folder / _required(options, "ids", name), name=name)


def _python(options: Mapping[str, Any], folder: Path, name: str) -> Ids:
    given = NamedColumns.of_options(options)
    return load_python_ids(options["function"], folder, options.get("arguments"), options=given, name=name)


def _libsvm(options: Mapping[str, Any], folder: Path, name: str) -> Ids:
    raise _no_ids(name, "a libsvm file")


def _required(options: Mapping[str, Any], key: str, name: str) -> Any:
    if not options.get(key):
        raise _no_ids(name, f"no {key}")
    return options[key]


def _no_ids(name: str, got: str) -> InputError:
    return InputError(f"{name} has no ids", expected="an id for each row", got=got, cure=ID_CURE)


_LOADERS: dict[str, Callable[[Mapping[str, Any], Path, str], Ids]] = {
    "csv": _csv,
    "parquet": _parquet,
    "sql": _sql,
    "excel": _excel,
    "libsvm": _libsvm,
    "npz": _npz,
    "npy": _npy,
    "python": _python,
}
