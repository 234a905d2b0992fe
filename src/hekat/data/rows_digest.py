"""One digest of the rows that a source gave, whatever a job makes of them: how two jobs on the same rows are told.

A job says which texts are categories, what fills an empty cell, how labels are numbered and whether rows stay sparse.
None of that changes the digest, nor does the order of rows and columns or the format of the file: sums over the same
rows are the same sums then. Labels are left out, since the sums of the standardiser are of features alone. The digest
is not keyed: it confirms a guess of the rows to anybody who sees it.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
import numpy.typing as npt

from hekat.data.features import Features, FloatArray, is_dense
from hekat.data.raw_table import RawColumn, RawTable, TextColumn

if TYPE_CHECKING:
    from scipy.sparse import csr_array

_ROWS_LABEL = b"hekat/rows/1"
_TEXT_LABEL = b"hekat/rows/text/1"
# Cells of one block of rows: 32 MiB of patterns.
_BLOCK_CELLS = 2**22
Patterns: TypeAlias = npt.NDArray[np.uint64]


def digest_of_columns(raw: RawTable) -> bytes:
    """SHA-256 over the sorted column names and the sorted digests of rows, each over the row's cells that are not 0.

    A text that is a number is that number, as the job alone decides which of the two a column holds.
    """
    names = sorted(raw.columns)
    columns = [raw.columns[name] for name in names]
    step = max(1, _BLOCK_CELLS // max(1, len(columns)))
    lookups = {name: _patterns_of_texts(column) for name, column in raw.columns.items() if not _is_number(column)}

    def rows() -> Iterator[bytes]:
        for start in range(0, raw.row_count, step):
            block = [
                _cells(column, lookups.get(name), start, start + step)
                for name, column in zip(names, columns, strict=True)
            ]
            yield from _dense_rows(np.stack(block, axis=1))

    return _digest(names, rows())


def digest_of_features(features: Features, names: tuple[str, ...]) -> bytes:
    """The same digest for a matrix of numbers, dense or sparse, whose columns have these names."""
    order = sorted(range(len(names)), key=names.__getitem__)
    if not is_dense(features):
        return _digest([names[number] for number in order], _sparse_rows(features, order))
    step = max(1, _BLOCK_CELLS // len(names))
    blocks = (features[start : start + step][:, order] for start in range(0, features.shape[0], step))
    return _digest(
        [names[number] for number in order], (row for block in blocks for row in _dense_rows(_pattern(block)))
    )


def _digest(names: list[str], rows: Iterator[bytes]) -> bytes:
    digest = hashlib.sha256(_ROWS_LABEL + len(names).to_bytes(8, "big"))
    for name in names:
        encoded = name.encode()
        digest.update(len(encoded).to_bytes(8, "big") + encoded)
    for row in sorted(hashlib.sha256(row).digest() for row in rows):
        digest.update(row)
    return digest.digest()


def _is_number(column: RawColumn) -> bool:
    return not isinstance(column, TextColumn)


def _cells(column: RawColumn, lookup: Patterns | None, start: int, end: int) -> Patterns:
    if isinstance(column, TextColumn):
        assert lookup is not None  # made for every column of texts
        return lookup[column.codes[start:end]]
    return _pattern(column[start:end])


def _pattern(values: FloatArray) -> Patterns:
    """The bits of each number: one zero, one NaN, which is an empty cell."""
    return np.where(np.isnan(values), np.nan, values + 0.0).view(np.uint64)


def _patterns_of_texts(column: RawColumn) -> Patterns:
    """By code; the last one is what code -1, an empty cell, finds."""
    assert isinstance(column, TextColumn)
    numbers = np.array([*map(_as_number, column.texts), math.nan])
    patterns = _pattern(numbers)
    for code in np.flatnonzero(np.isnan(numbers[:-1])).tolist():
        if text := column.texts[code]:
            hashed = hashlib.sha256(_TEXT_LABEL + text.encode()).digest()
            patterns[code] = int.from_bytes(hashed[:8], "big")
    return patterns


def _as_number(text: str) -> float:
    """The finite number that a cell holds, with a decimal point or comma; NaN for any other text, and for none."""
    try:
        value = float(text.replace(",", "."))
    except ValueError:
        return math.nan
    return value if math.isfinite(value) and "_" not in text else math.nan


def _dense_rows(patterns: Patterns) -> Iterator[bytes]:
    """For each row the pairs (column, bits) that are not 0: the content of sparse rows."""
    rows, columns = np.nonzero(patterns)
    pairs = np.stack([columns.astype("<u8"), patterns[rows, columns].astype("<u8")], axis=1)
    ends = np.cumsum(np.bincount(rows, minlength=patterns.shape[0]))
    return _split(pairs, ends)


def _sparse_rows(features: csr_array, order: list[int]) -> Iterator[bytes]:
    place = np.empty(len(order), dtype=np.int64)
    place[order] = np.arange(len(order))
    step = max(1, _BLOCK_CELLS * features.shape[0] // max(1, features.nnz))
    for start in range(0, features.shape[0], step):
        block = features[start : start + step].copy()
        block.indices = place[block.indices]
        block.has_sorted_indices = False
        block.sort_indices()
        patterns = _pattern(np.asarray(block.data, dtype=np.float64))
        stored = patterns != 0
        pairs = np.stack([block.indices.astype("<u8"), patterns.astype("<u8")], axis=1)[stored]
        yield from _split(pairs, np.concatenate([[0], np.cumsum(stored)])[block.indptr[1:]])


def _split(pairs: npt.NDArray[np.uint64], ends: npt.NDArray[np.int64]) -> Iterator[bytes]:
    data, start = pairs.tobytes(), 0
    for end in (16 * ends).tolist():
        yield data[start:end]
        start = end
