"""Turns columns as they were read into features: categories into columns of 0 and 1, empty cells into their fill."""

from __future__ import annotations

import difflib
import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from hekat.data.columns.specs import ColumnSpec, ColumnSpecs
from hekat.data.features import (
    Features,
    FloatArray,
    check_column_count,
    check_dense_size,
    is_dense,
    to_dense,
    to_sparse,
)
from hekat.data.number_text import shortest_whole, text_of
from hekat.data.raw_table import IntArray, RawColumn, RawTable, TextColumn
from hekat.data.rows_digest import digest_of_columns, digest_of_features
from hekat.data.table import Table
from hekat.errors import InputError
from hekat.toml_text import toml_key

_MAX_SHOWN = 8
_ID_NAME = re.compile(r"(^|[^a-z])(id|uuid|index|key)$", re.IGNORECASE)


def encode_columns(raw: RawTable, specs: ColumnSpecs, *, sparse: bool, digest_rows: bool = False) -> Table:
    """The table of `raw` under the job's description of columns, its features dense or sparse rows.

    With `digest_rows` it holds the digest of the rows of `raw`.

    Raises InputError that names the table, the column and the first row for an empty cell without a fill, for texts in
    a column that the job gives no categories, and for a text that is none of them; the text itself is never shown.
    """
    _check_all_there(raw, specs)
    encoded = _Encoded(raw.row_count)
    for name, column in raw.columns.items():
        _encode(encoded, raw, name, column, specs.find(name))
    check_column_count(len(encoded.names), raw.name)
    features = encoded.to_sparse() if sparse else encoded.to_dense(raw.name)
    digest = digest_of_columns(raw) if digest_rows else None
    return Table(features, raw.labels, tuple(encoded.names), raw.name, raw.ids, tuple(encoded.notes), digest)


def encode_table(table: Table, specs: ColumnSpecs, *, sparse: bool, digest_rows: bool = False) -> Table:
    """The same for a source that is a matrix of numbers, which names a category by its number.

    Sparse rows hold what is encoded already, so a description of columns is refused for them.
    """
    features = table.features
    described = [spec.name for spec in specs if specs.everywhere or spec.name in table.feature_names]
    if described:
        if not is_dense(features):
            raise InputError(
                f"{table.name} is sparse, and the job describes columns to encode",
                expected="no [columns] in the job, or a source of single columns (csv, parquet, npz, npy)",
                got=f"[columns.{described[0]}] and sparse rows",
                cure="encode the categories where the file is made, and remove [columns] from the job",
            )
        columns = {name: features[:, number] for number, name in enumerate(table.feature_names)}
        raw = RawTable(table.name, columns, len(table), table.labels, table.ids)
        encoded = encode_columns(raw, specs, sparse=sparse, digest_rows=digest_rows)
        return replace(encoded, notes=(*table.notes, *encoded.notes))
    held = to_sparse(features) if sparse else to_dense(features, table.name)
    digest = digest_of_features(features, table.feature_names) if digest_rows else None
    return Table(held, table.labels, table.feature_names, table.name, table.ids, table.notes, digest)


@dataclass
class _Encoded:
    """The features so far: numbers are whole columns, categories the one column of its block that a row is 1 in."""

    row_count: int
    names: list[str] = field(default_factory=list)
    numbers: list[tuple[int, FloatArray]] = field(default_factory=list)
    categories: list[tuple[int, IntArray]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def add_numbers(self, name: str, values: FloatArray) -> None:
        self.numbers.append((len(self.names), values))
        self.names.append(name)

    def add_categories(self, names: Sequence[str], codes: IntArray) -> None:
        self.categories.append((len(self.names), codes))
        self.names.extend(names)

    def to_dense(self, name: str) -> Features:
        if self.categories:  # one-hot columns can be many more than the file has
            check_dense_size(self.row_count, len(self.names), name)
        features = np.zeros((self.row_count, len(self.names)))
        for position, values in self.numbers:
            features[:, position] = values
        rows = np.arange(self.row_count)
        for position, codes in self.categories:
            features[rows, position + codes] = 1.0
        return features

    def to_sparse(self) -> Features:
        from scipy.sparse import csr_array

        rows: list[IntArray] = []
        columns: list[IntArray] = []
        values: list[FloatArray] = []
        for position, column in self.numbers:
            stored = np.flatnonzero(column)
            rows.append(stored)
            columns.append(np.full(stored.size, position))
            values.append(column[stored])
        for position, codes in self.categories:
            rows.append(np.arange(self.row_count))
            columns.append(position + codes)
            values.append(np.ones(self.row_count))
        empty = np.empty(0, dtype=np.int64)
        where = np.concatenate([empty, *rows]), np.concatenate([empty, *columns])
        return csr_array((np.concatenate([np.empty(0), *values]), where), shape=(self.row_count, len(self.names)))


def _encode(encoded: _Encoded, raw: RawTable, name: str, column: RawColumn, spec: ColumnSpec | None) -> None:
    if spec is not None and spec.categories:
        texts = column if isinstance(column, TextColumn) else _as_texts(column)
        encoded.add_categories(spec.feature_names, _bucket_of_each_row(encoded, raw, texts, spec))
        return
    if isinstance(column, TextColumn):
        first = int(np.flatnonzero(column.codes >= 0)[0]) if (column.codes >= 0).any() else 0
        raise InputError(
            f"{raw.name}: column {name!r} holds texts",
            expected="numbers, or categories that the job lists for all parties",
            got=f"a text, first in {raw.place(first)}",
            cure=f"write [{toml_key('columns', name)}] categories = [...] into the job, the same at every party, "
            "or ignore the column in the site file",
        )
    empty = np.flatnonzero(np.isnan(column))
    if empty.size:
        fill = None if spec is None else spec.fill
        if fill is None:
            raise _empty_cells(raw, name, empty, "fill = NUMBER")
        column = np.where(np.isnan(column), float(fill), column)
        encoded.notes.append(_filled(empty.size, name))
    if _looks_like_ids(name, column):
        encoded.notes.append(
            f"column {name!r} is trained on, though it looks like the ids of records: if so, say id in the site file"
        )
    encoded.add_numbers(name, column)


def _looks_like_ids(name: str, column: FloatArray) -> bool:
    is_named_so = _ID_NAME.search(name) is not None
    return is_named_so and np.unique(column).size == column.size > 1 and bool((column == np.rint(column)).all())


def _bucket_of_each_row(encoded: _Encoded, raw: RawTable, column: TextColumn, spec: ColumnSpec) -> IntArray:
    """For each row the position of its category among the spec's buckets."""
    buckets = {text: number for number, text in enumerate(spec.buckets)}
    known = {text: buckets[text] for text in spec.categories}
    stranger = len(spec.categories) if spec.other else -1
    of_text = [known.get(text, known.get(shortest_whole(text), stranger)) for text in column.texts]
    empty = np.flatnonzero(column.codes < 0)
    if empty.size and spec.fill is None:
        raise _empty_cells(raw, spec.name, empty, "fill = CATEGORY")
    # The last entry is what code -1, an empty cell, finds.
    lookup = np.array([*of_text, buckets.get(str(spec.fill), -1)], dtype=np.int64)
    codes = lookup[column.codes]
    unknown = np.flatnonzero(codes < 0)
    if unknown.size:
        raise _vocabulary_mismatch(raw, spec, unknown)
    if empty.size:
        encoded.notes.append(_filled(empty.size, spec.name))
    others = int((lookup[:-1][column.codes[column.codes >= 0]] == stranger).sum()) if spec.other else 0
    if others:
        encoded.notes.append(f"{others} rows of column {spec.name!r} hold none of its categories and count as 'other'")
    return codes


def _as_texts(column: FloatArray) -> TextColumn:
    """Numbers as the texts of categories: 1.0 is "1"."""
    values, codes = np.unique(column, return_inverse=True)
    is_empty = np.isnan(column)
    return TextColumn(np.where(is_empty, -1, codes.reshape(-1)), tuple(text_of(value) for value in values))


def _filled(count: int, name: str) -> str:
    return f"{count} empty {'cell' if count == 1 else 'cells'} of column {name!r} filled as the job says"


def _empty_cells(raw: RawTable, name: str, rows: IntArray, cure: str) -> InputError:
    return InputError(
        f"{raw.name}: column {name!r} has empty cells",
        expected="a value in every row",
        got=f"none in {rows.size} rows, first in {raw.place(int(rows[0]))}",
        cure=f"fill them in, remove those rows, or let the job say {cure} under [{toml_key('columns', name)}]",
    )


def _vocabulary_mismatch(raw: RawTable, spec: ColumnSpec, rows: IntArray) -> InputError:
    shown = ", ".join(spec.categories[:_MAX_SHOWN]) + (", ..." if len(spec.categories) > _MAX_SHOWN else "")
    return InputError(
        f"{raw.name}: vocabulary mismatch in column {spec.name!r}",
        expected=f"one of the job's categories: {shown}",
        got=f"something else in {rows.size} rows, first in {raw.place(int(rows[0]))}",
        cure=f"correct the cells, or extend [{toml_key('columns', spec.name)}] in the job by the category or "
        "other = true",
    )


def check_all_used(tables: Sequence[Table], specs: ColumnSpecs) -> None:
    """Check that every column which a job describes is a column of some party.

    Args:
        tables: One table of each party.
        specs: The columns that the job describes.

    Raises:
        InputError: No table has one of them.

    Examples:
        >>> import numpy as np
        >>> from hekat.data import ColumnSpec, ColumnSpecs, Table, check_all_used
        >>> table = Table(np.array([[61.0]]), None, ("age",))
        >>> check_all_used([table], ColumnSpecs((ColumnSpec("age", fill=50.0),)))
    """
    features = frozenset(name for table in tables for name in table.feature_names)
    for spec in specs:
        if not features.issuperset(spec.feature_names):
            raise _no_such_column("no party has a", spec, sorted(features))


def _check_all_there(raw: RawTable, specs: ColumnSpecs) -> None:
    for spec in specs if specs.everywhere else ():
        if spec.name not in raw.columns:
            raise _no_such_column(f"{raw.name} has no", spec, list(raw.columns))


def _no_such_column(lacking: str, spec: ColumnSpec, names: Sequence[str]) -> InputError:
    close = difflib.get_close_matches(spec.name, names, n=1, cutoff=0.6)
    shown = ", ".join(names[:_MAX_SHOWN]) + (", ..." if len(names) > _MAX_SHOWN else "")
    return InputError(
        f"{lacking} feature column {spec.name!r}, which the job describes",
        expected=f"one of {shown}",
        got=f"[{toml_key('columns', spec.name)}]",
        cure=f"did you mean {close[0]!r}?"
        if close
        else "rename the column in the data, or remove the section from the job",
    )
