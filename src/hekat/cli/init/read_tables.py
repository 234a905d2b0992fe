"""Reads the tables of `hekat init --from` as a whole, and says how far it is where that takes a while."""

from __future__ import annotations

import argparse
import filecmp
import os
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hekat.data.profile.table_profile import TableProfile, profile_csv, profile_rows
from hekat.data.sources.excel_file import opened_excel
from hekat.data.sources.parquet_file import opened_parquet
from hekat.data.sources.sql_source import SqlSource, opened_sql, sql_table_names
from hekat.errors import InputError
from hekat.printable import printable

KINDS = ("csv", "parquet", "sql", "excel")
_ENDINGS = {".parquet": "parquet", ".xlsx": "excel", ".db": "sql", ".sqlite": "sql", ".sqlite3": "sql"}
_WITH_TABLES = ("sql", "excel")
_QUIET_S = 3.0


@dataclass(frozen=True)
class TableFile:
    """One table after --from: a file, or, of a database, the environment variable that holds its URL. `table` is the
    table of a database, or the sheet of an Excel file."""

    kind: str
    path: Path
    table: str | None = None

    def place(self, folder: Path) -> dict[str, Any]:
        """Where it lies, as a site file in `folder` says it."""
        path = os.path.relpath(self.path.resolve(), folder.resolve())
        if self.kind == "sql":
            url = {"url": f"sqlite:///{path}"} if self.path.exists() else {"url_variable": str(self.path)}
            return {**url, "table": self.table}
        return {"path": path} | ({"sheet": self.table} if self.kind == "excel" and self.table else {})


def find_tables(options: argparse.Namespace) -> list[TableFile]:
    """The tables after --from, each of its own kind: the one that --data names for all, else the one of its ending.

    Raises InputError for a kind that cannot be looked at, for two files of the same bytes, and for a database with
    several tables where --table names none.
    """
    paths: list[Path] = options.tables
    kinds = [options.data or _ENDINGS.get(path.suffix.lower(), "csv") for path in paths]
    if not set(kinds) <= set(KINDS):
        raise InputError(
            "--from cannot take these tables",
            expected=f"tables in files or databases: --data {', '.join(KINDS)}",
            got=f"--data {options.data}",
            cure="leave out --data for files that are known by their endings, or name another kind",
        )
    if options.table is not None and not set(kinds) & set(_WITH_TABLES):
        raise InputError(
            "--table is of a database or an Excel file",
            expected="--data sql or excel",
            got=", ".join(sorted(set(kinds))),
            cure="leave out --table",
        )
    _refuse_copies(paths)
    return [
        TableFile(kind, path, _table_in(kind, path, options.table)) for kind, path in zip(kinds, paths, strict=True)
    ]


def _check_is_there(table: TableFile) -> None:
    """Raise InputError for a file that is not there; of a database, --from may name the variable of its URL."""
    if table.path.exists() or table.kind == "sql":
        return
    raise InputError(
        f"{table.path} is not there", expected="a table to read", got="no such file", cure="check the path after --from"
    )


def _table_in(kind: str, path: Path, named: str | None) -> str | None:
    """The table of a database or the sheet of an Excel file: the one that is `named`, or a database's only one."""
    if kind != "sql" or named is not None:
        return named if kind in _WITH_TABLES else None
    names = sql_table_names(_sql_source(path, "any"), str(path))
    if len(names) != 1:
        raise InputError(
            f"which table of {path} to read is not clear",
            expected=f"one of {', '.join(names[:8])}" if names else "a table, and the database has none",
            got=f"{len(names)} tables",
            cure="name it with --table",
        )
    return names[0]


def _refuse_copies(paths: Sequence[Path]) -> None:
    """Raise InputError for two files of the same bytes: rows held out at one party would be trained on at another."""
    for number, path in enumerate(paths):
        for earlier in paths[:number]:
            if path.is_file() and earlier.is_file() and filecmp.cmp(earlier, path, shallow=False):
                raise InputError(
                    "two parties would have the same rows",
                    expected="a table of its own for each party",
                    got=f"{path}, byte for byte as {earlier}",
                    cure="give each party's own table, or one table with --split, which deals its rows out",
                )


def read_tables(tables: Sequence[TableFile]) -> list[TableProfile]:
    """What each table holds. Raises InputError for one that cannot be read."""
    for table in tables:
        _check_is_there(table)
    progress = _Progress()
    return [_profile(table, progress) for table in tables]


def _profile(table: TableFile, progress: _Progress) -> TableProfile:
    path = table.path
    if table.kind == "csv":
        return profile_csv(path, progress)
    if table.kind == "parquet":
        with opened_parquet(path) as (names, rows):
            return profile_rows(path.name, names, rows, progress)
    if table.kind == "excel":
        with opened_excel(path, table.table) as (names, rows):
            return profile_rows(path.name, names, rows, progress)
    with opened_sql(_sql_source(path, table.table), path.name) as (names, rows):
        return profile_rows(path.name, names, rows, progress)


def _sql_source(path: Path, table: str | None) -> SqlSource:
    if path.exists():
        return SqlSource(url=f"sqlite:///{path.resolve()}", table=table)
    if str(path).isidentifier():
        return SqlSource(url_variable=str(path), table=table)
    raise InputError(
        f"{path} is not there",
        expected="a file of SQLite, or the name of an environment variable that holds the URL of a database",
        got="neither",
        cure="correct --from",
    )


class _Progress:
    """A line on stderr every few seconds."""

    def __init__(self) -> None:
        self._told_at = time.monotonic()

    def __call__(self, name: str, rows: int) -> None:
        now = time.monotonic()
        if now - self._told_at >= _QUIET_S:
            self._told_at = now
            sys.stderr.write(printable(f"reading     {name}: {rows:,} rows so far") + "\n")
