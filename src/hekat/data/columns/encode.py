"""Turns columns as they were read into features: categories into columns of 0 and 1, empty cells into their fill."""

from __future__ import annotations

import difflib
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from hekat.data.columns.findings import ColumnFinding, ColumnsRefusedError
from hekat.data.columns.found import (
    MOST_FOUND,
    OpenCategories,
    frequent_texts,
    offered_texts,
    with_categories,
    with_vocabulary,
)
from hekat.data.columns.specs import (
    ANY_TEXT,
    CATEGORY_FILL,
    DEFAULT_MARKS,
    MISSING,
    OTHER,
    ColumnSpec,
    ColumnSpecs,
    fits,
)
from hekat.data.columns.text_columns import as_texts, texts_in_use, with_marks
from hekat.data.features import (
    Features,
    FloatArray,
    check_column_count,
    check_dense_size,
    is_dense,
    to_dense,
    to_sparse,
)
from hekat.data.number_text import describe_text, read_number, shortest_whole
from hekat.data.raw_table import IntArray, RawColumn, RawTable, TextColumn
from hekat.data.rows_digest import digest_of_columns, digest_of_features
from hekat.data.table import OpenFill, Table
from hekat.errors import InputError
from hekat.first_few import first_few
from hekat.toml_text import toml_key

_MAX_SHOWN = 8
_ID_NAME = re.compile(r"(^|[^a-z])(id|uuid|index|key)$", re.IGNORECASE)
_DEFAULT_MARKS = frozenset(DEFAULT_MARKS)
_KEPT_END = "left empty, as trees take them"
_FILLED_END, _STRANGER_WORDS = "filled as the job says", "hold none of its categories and count as"
# In place of the number of a category, from 0, for a text that is none: filled as an empty cell is, 0 in the columns of
# all categories, or an error.
_TO_FILL, _ALL_ZERO, _REFUSED = -1, -2, -3


def encode_columns(raw: RawTable, specs: ColumnSpecs, *, sparse: bool, digest_rows: bool = False) -> Table:
    """The table of `raw` under the job's description of columns, its features dense or sparse rows.

    With `digest_rows` it holds the digest of the rows of `raw`. An empty cell that the rows of all parties fill is NaN,
    in all columns of a category, and named by the table's `open_fills`. Where parties find categories together, the
    table has the categories of its own rows, and `open_categories` to encode it again by `encode_again`.

    Raises ColumnsRefusedError with all columns that have empty cells without a fill, texts without categories, or texts
    that are none of them; InputError for a described column that is not there. No message holds a text.
    """
    _check_all_there(raw, specs)
    if specs.found_together and any(spec.found for spec in specs):
        offers = offered_texts(raw, specs)
        table = encode_columns(raw, with_vocabulary(specs, offers), sparse=sparse, digest_rows=digest_rows)
        used = tuple(name for name in raw.columns if (spec := specs.find(name)) is None or not spec.ignore)
        return replace(table, open_categories=OpenCategories(raw, used, offers, table.notes))
    encoded = _Encoded(raw.row_count, specs.for_training, specs.for_trees, specs.keeps_gaps)
    for name, column in raw.columns.items():
        _encode(encoded, raw, name, column, specs)
    if encoded.findings:
        raise ColumnsRefusedError(encoded.findings, [raw], specs)
    if raw.columns and not encoded.names:
        raise InputError(
            f"{raw.name} has no feature columns",
            expected="at least one that the job does not ignore",
            got=f"{len(raw.columns)} columns, all of them ignored",
            cure="ignore fewer under [columns] in the job",
        )
    check_column_count(len(encoded.names), raw.name)
    features = encoded.to_sparse() if sparse else encoded.to_dense(raw.name)
    digest = digest_of_columns(raw) if digest_rows else None
    return Table(
        features,
        raw.labels,
        tuple(encoded.names),
        raw.name,
        raw.ids,
        (*raw.notes, *encoded.notes),
        digest,
        tuple(encoded.open_fills),
        tuple(encoded.settled),
        indicators=tuple(encoded.indicators),
        categories=tuple(encoded.numbered),
        keeps_gaps=specs.keeps_gaps,
    )


def encode_again(table: Table, specs: ColumnSpecs, *, sparse: bool) -> Table:
    """A table with open categories under a description that lists them, its labels as they are. Raises as
    `encode_columns`."""
    left_open = table.open_categories
    assert left_open is not None  # the caller has checked
    encoded = encode_columns(left_open.raw, specs, sparse=sparse)
    kept = tuple(note for note in table.notes if note not in left_open.notes)
    return replace(
        encoded,
        labels=table.labels,
        notes=(*kept, *encoded.notes),
        rows_digest=table.rows_digest,
        budget_waived=table.budget_waived,
    )


def encode_table(table: Table, specs: ColumnSpecs, *, sparse: bool, digest_rows: bool = False) -> Table:
    """The same for a source that is a matrix of numbers, which names a category by its number.

    Sparse rows hold what is encoded already, so a description of columns is refused for them.
    """
    features = table.features
    described = [spec.name for spec in specs if specs.everywhere or spec.name in table.feature_names]
    if not is_dense(features) and described:
        raise InputError(
            f"{table.name} is sparse, and the job describes columns to encode",
            expected="no [columns] in the job, or a source of single columns (csv, parquet, npz, npy)",
            got=f"[columns.{described[0]}] and sparse rows",
            cure="encode the categories where the file is made, and remove [columns] from the job",
        )
    if is_dense(features) and (specs.specs or np.isnan(features).any()):
        columns = {name: features[:, number] for number, name in enumerate(table.feature_names)}
        raw = RawTable(table.name, columns, len(table), table.labels, table.ids)
        encoded = encode_columns(raw, specs, sparse=sparse, digest_rows=digest_rows)
        return replace(encoded, notes=(*table.notes, *encoded.notes))
    if not is_dense(features) and specs.keeps_gaps:
        raise InputError(
            f"{table.name} is sparse, and trees are trained on dense rows",
            expected="rows of single columns (csv, parquet, npz, npy)",
            got="sparse rows",
            cure="give the table in one of these forms",
        )
    held = to_sparse(features) if sparse else to_dense(features, table.name)
    digest = digest_of_features(features, table.feature_names) if digest_rows else None
    return Table(held, table.labels, table.feature_names, table.name, table.ids, table.notes, digest)


@dataclass
class _Encoded:
    """The features so far: numbers are whole columns, categories the one column of its block that a row is 1 in.

    Code -1 is a cell that the rows of all parties fill: NaN in the first columns of its block. Code -2 is a text that
    none of the columns stands for: 0 in all of them.
    """

    row_count: int
    for_training: bool
    for_trees: bool
    keeps_gaps: bool
    names: list[str] = field(default_factory=list)
    numbers: list[tuple[int, FloatArray]] = field(default_factory=list)
    categories: list[tuple[int, int, IntArray]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    findings: list[ColumnFinding] = field(default_factory=list)
    open_fills: list[OpenFill] = field(default_factory=list)
    settled: list[ColumnSpec] = field(default_factory=list)
    indicators: list[str] = field(default_factory=list)
    numbered: list[str] = field(default_factory=list)

    def add_numbers(self, name: str, values: FloatArray) -> None:
        self.numbers.append((len(self.names), values))
        self.names.append(name)

    def add_indicator(self, name: str, is_one: npt.NDArray[np.bool_]) -> None:
        self.indicators.append(name)
        self.add_numbers(name, is_one.astype(np.float64))

    def add_categories(self, names: Sequence[str], codes: IntArray, filled: int) -> None:
        """`filled` of the columns are those that a fill may choose among."""
        self.categories.append((len(self.names), filled, codes))
        self.names.extend(names)
        self.indicators.extend(names)

    def add_numbered_categories(self, name: str, codes: IntArray) -> None:
        """One column of the numbers of categories, NaN where a cell is empty or its text none of them."""
        self.numbered.append(name)
        self.add_numbers(name, np.where(codes >= 0, codes.astype(np.float64), np.nan))

    def to_dense(self, name: str) -> Features:
        if self.categories:  # one-hot columns can be many more than the file has
            check_dense_size(self.row_count, len(self.names), name)
        features = np.zeros((self.row_count, len(self.names)))
        for position, values in self.numbers:
            features[:, position] = values
        rows = np.arange(self.row_count)
        for position, width, codes in self.categories:
            known = codes >= 0
            features[rows[known], position + codes[known]] = 1.0
            features[codes == _TO_FILL, position : position + width] = np.nan
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
        for position, width, codes in self.categories:
            known, empty_rows = np.flatnonzero(codes >= 0), np.flatnonzero(codes == _TO_FILL)
            rows += [known, np.repeat(empty_rows, width)]
            columns += [position + codes[known], np.tile(np.arange(position, position + width), empty_rows.size)]
            values += [np.ones(known.size), np.full(empty_rows.size * width, np.nan)]
        empty = np.empty(0, dtype=np.int64)
        where = np.concatenate([empty, *rows]), np.concatenate([empty, *columns])
        return csr_array((np.concatenate([np.empty(0), *values]), where), shape=(self.row_count, len(self.names)))


def _encode(encoded: _Encoded, raw: RawTable, name: str, column: RawColumn, specs: ColumnSpecs) -> None:
    spec, by_texts = specs.find(name), specs.find(name, holds_texts=True)
    if spec is not None and spec.ignore:
        return
    if spec is not None and spec.has_categories:
        coded = column if isinstance(column, TextColumn) else as_texts(column)
        _encode_texts(encoded, raw, with_marks(coded, spec.marks), spec)
        return
    found = _numbers_in(column, _DEFAULT_MARKS if spec is None else spec.marks, raw.decimal)
    if isinstance(found, TextColumn) and by_texts is not None and by_texts.has_categories:
        _encode_texts(encoded, raw, found, by_texts)
        return
    if isinstance(found, TextColumn):
        texts = {text: count for text, count in texts_in_use(found).items() if describe_text(text, raw.decimal)}
        encoded.findings.append(_finding(raw, name, found, texts, ()))
        return
    _encode_numbers(encoded, raw, name, found, spec)


def _encode_numbers(encoded: _Encoded, raw: RawTable, name: str, column: FloatArray, spec: ColumnSpec | None) -> None:
    is_empty = np.isnan(column)
    empty = np.flatnonzero(is_empty)
    fill = None if spec is None else spec.fill
    if empty.size and fill is None and not encoded.keeps_gaps:
        encoded.findings.append(ColumnFinding(raw.name, name, raw.row_count, empty.size, raw.place(int(empty[0]))))
        return
    if fill is None:
        pass
    elif spec is not None and spec.joint_fill:
        encoded.open_fills.append(OpenFill((name,), spec.joint_fill))
    elif empty.size:
        column = np.where(is_empty, float(fill), column)
    if empty.size:
        encoded.notes.append(_filled(empty.size, name) if fill is not None else _kept(empty.size, name))
    elif _looks_like_ids(name, column):
        encoded.notes.append(
            f"column {name!r} is trained on, though it looks like the ids of records: if so, say id in the site file"
        )
    encoded.add_numbers(name, column)
    if spec is not None and spec.missing == "indicator":
        encoded.add_indicator(f"{name}={MISSING}", is_empty)


def _numbers_in(column: RawColumn, marks: frozenset[str], decimal: str) -> RawColumn:
    """The numbers of a column, NaN where a cell is empty; the column of texts where one of them is no number."""
    if isinstance(column, TextColumn):
        column = with_marks(column, marks)
        values = [read_number(text, decimal) for text in column.texts]
        in_use = np.bincount(column.codes[column.codes >= 0], minlength=len(column.texts)) > 0
        has_texts = any(value is None for value, is_used in zip(values, in_use.tolist(), strict=True) if is_used)
        if has_texts and ANY_TEXT not in marks:
            return column
        return np.array([*(np.nan if value is None else value for value in values), np.nan])[column.codes]
    numbers = _numbers_among(marks)
    return np.where(np.isin(column, numbers), np.nan, column) if numbers else column


# Tables of many columns ask for few sets of marks.
@lru_cache(maxsize=64)
def _numbers_among(marks: frozenset[str]) -> tuple[float, ...]:
    return tuple(value for value in map(read_number, marks) if value is not None)


def _finding(
    raw: RawTable, name: str, column: TextColumn, texts: Mapping[str, int], listed: tuple[str, ...]
) -> ColumnFinding:
    """What there is to say of a column with `texts` that the job says nothing of."""
    is_one = np.array([*(text in texts for text in column.texts), False])[column.codes]
    first_text = raw.place(int(np.argmax(is_one))) if texts else ""
    empty = np.flatnonzero(column.codes < 0)
    first_empty = raw.place(int(empty[0])) if empty.size else ""
    return ColumnFinding(raw.name, name, raw.row_count, empty.size, first_empty, texts, first_text, listed, raw.decimal)


def _looks_like_ids(name: str, column: FloatArray) -> bool:
    is_named_so = _ID_NAME.search(name) is not None
    return is_named_so and np.unique(column).size == column.size > 1 and bool((column == np.rint(column)).all())


def _encode_texts(encoded: _Encoded, raw: RawTable, column: TextColumn, spec: ColumnSpec) -> None:
    """Add a column of texts, whose categories are listed, or all that enough of its rows hold."""
    if spec.found:
        texts = texts_in_use(column)
        categories = frequent_texts(texts, spec, spec.min_rows or 1)
        if not 0 < len(categories) <= MOST_FOUND:
            encoded.findings.append(_finding(raw, spec.name, column, texts, ()))
            return
        spec = with_categories(spec, categories)
        encoded.settled.append(spec)
    _encode_categories(encoded, raw, column, spec)


def _encode_categories(encoded: _Encoded, raw: RawTable, column: TextColumn, spec: ColumnSpec) -> None:
    """Add for each row the position of its category among the spec's buckets."""
    buckets = {text: number for number, text in enumerate(spec.buckets)}
    known = {text: buckets[text] for text in spec.categories}
    stranger = _code_of_strangers(spec, buckets, for_training=encoded.for_training)
    of_text = [known.get(text, known.get(shortest_whole(text), stranger)) for text in column.texts]
    fill = MISSING if spec.missing == "category" else spec.fill
    bucket = dict(zip(column.texts, of_text, strict=True))
    strangers = {text: count for text, count in texts_in_use(column).items() if bucket[text] == _REFUSED}
    empty = np.flatnonzero(column.codes < 0)
    if strangers or (empty.size and fill is None and not encoded.keeps_gaps):
        encoded.findings.append(_finding(raw, spec.name, column, strangers, spec.categories))
        return
    # The last entry is what code -1, an empty cell, finds: -1 where all parties together fill it.
    of_empty = _ALL_ZERO if fill is None and encoded.keeps_gaps else _TO_FILL
    codes = np.array([*of_text, buckets.get(str(fill), of_empty)], dtype=np.int64)[column.codes]
    filled = len(spec.buckets) - (spec.missing == "category")
    if spec.joint_fill and not encoded.for_trees:
        encoded.open_fills.append(OpenFill(spec.feature_names[:filled], spec.joint_fill))
    if empty.size and fill is not None and fill != MISSING:
        encoded.notes.append(_filled(empty.size, spec.name))
    elif empty.size and fill is None:
        encoded.notes.append(_kept(empty.size, spec.name))
    is_stranger = np.array([text not in known and shortest_whole(text) not in known for text in column.texts] + [False])
    count = int(np.sum(is_stranger[column.codes]))
    if count:
        taken = _say_unknown(spec)
        encoded.notes.append(f"{count:,} rows of column {spec.name!r} {_STRANGER_WORDS} {taken}")
    if encoded.for_trees:
        encoded.add_numbered_categories(spec.name, codes)
        return
    encoded.add_categories(spec.feature_names, codes, filled)


def _code_of_strangers(spec: ColumnSpec, buckets: Mapping[str, int], *, for_training: bool) -> int:
    """The code of a text that is none of the categories."""
    if spec.other:
        return buckets[OTHER]
    if for_training or spec.unknown in (None, "error"):
        return _REFUSED
    return {"ignore": _ALL_ZERO, CATEGORY_FILL: _TO_FILL}.get(
        str(spec.unknown), buckets.get(str(spec.unknown), _REFUSED)
    )


def _say_unknown(spec: ColumnSpec) -> str:
    if spec.other:
        return "'other'"
    words = {"ignore": "none of them", CATEGORY_FILL: "the most frequent one"}
    return words.get(str(spec.unknown), repr(spec.unknown))


def _filled(count: int, name: str) -> str:
    return f"{count} empty {'cell' if count == 1 else 'cells'} of column {name!r} {_FILLED_END}"


def _kept(count: int, name: str) -> str:
    return f"{count} empty {'cell' if count == 1 else 'cells'} of column {name!r} {_KEPT_END}"


def notes_of_cells(table: Table) -> tuple[str, ...]:
    """The notes of a table that count filled or kept cells, and texts that are no category."""
    return tuple(note for note in table.notes if note.endswith((_FILLED_END, _KEPT_END)) or _STRANGER_WORDS in note)


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
    sources = {specs.source_of(name) for table in tables for name in table.feature_names}
    sources |= {spec.name for table in tables for spec in table.settled}
    for spec in specs:
        # A column that the job ignores has left no trace in the tables.
        if not spec.ignore and not _holds_for_any(spec, sources):
            raise _no_such_column("no party has a", spec, sorted(sources))


def _check_all_there(raw: RawTable, specs: ColumnSpecs) -> None:
    for spec in specs if specs.everywhere else ():
        if not _holds_for_any(spec, raw.columns):
            raise _no_such_column(f"{raw.name} has no", spec, list(raw.columns))


def _holds_for_any(spec: ColumnSpec, names: Collection[str]) -> bool:
    return any(fits(spec.name, name) for name in names) if spec.is_pattern else spec.name in names


def _no_such_column(lacking: str, spec: ColumnSpec, names: Sequence[str]) -> InputError:
    close = difflib.get_close_matches(spec.name, names, n=1, cutoff=0.6)
    return InputError(
        f"{lacking} feature column {spec.name!r}, which the job describes"
        if not spec.is_pattern
        else f"{lacking} feature column that fits {spec.name!r}, which the job describes",
        expected=f"one of {first_few(names, _MAX_SHOWN)}",
        got=f"[{toml_key('columns', spec.name)}]",
        cure=f"did you mean {close[0]!r}?"
        if close
        else "rename the column in the data, or remove the section from the job",
    )
