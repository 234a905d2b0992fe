"""One digest of the rows that a source gave, whatever a job makes of them: how two jobs on the same rows are told.

A job says which texts are categories, what fills an empty cell, how labels are numbered and whether rows stay sparse.
None of that changes the digest, nor does the order of rows and columns or the format of the file: sums over the same
rows are the same sums then. Labels are left out, since the sums of the standardiser are of features alone. The digest
is not keyed: it confirms a guess of the rows to anybody who sees it.
"""

from __future__ import annotations

import hashlib
import itertools
import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
import numpy.typing as npt

from hekat.data.features import Features, FloatArray, is_dense
from hekat.data.raw_table import RawTable, TextColumn

if TYPE_CHECKING:
    from scipy.sparse import csr_array

_ROWS_LABEL = b"hekat/rows/1"
_TEXT_LABEL = b"hekat/rows/text/1"
# Cells of one block of rows, which fits into a processor's own memory with what is made of it.
_BLOCK_CELLS = 2**15
_DIGEST_BYTES = 32
Patterns: TypeAlias = npt.NDArray[np.uint64]


def digest_of_columns(raw: RawTable) -> bytes:
    """SHA-256 over the sorted column names and the sorted digests of rows, each over the row's cells that are not 0.

    A text that is a number is that number, as the job alone decides which of the two a column holds.
    """
    names = sorted(raw.columns)
    columns = [raw.columns[name] for name in names]
    texts = {number: column for number, column in enumerate(columns) if isinstance(column, TextColumn)}
    lookups = {number: _patterns_of_texts(column) for number, column in texts.items()}

    def blocks() -> Iterator[bytes]:
        for start, end in _blocks(raw.row_count, len(columns)):
            numbers = np.zeros((end - start, len(columns)))
            for number, column in enumerate(columns):
                if not isinstance(column, TextColumn):
                    numbers[:, number] = column[start:end]
            patterns = _pattern(numbers)
            for number, lookup in lookups.items():
                patterns[:, number] = lookup[texts[number].codes[start:end]]
            yield _dense_rows(patterns)

    return _digest(names, blocks())


def digest_of_features(features: Features, names: tuple[str, ...]) -> bytes:
    """The same digest for a matrix of numbers, dense or sparse, whose columns have these names."""
    order = sorted(range(len(names)), key=names.__getitem__)
    sorted_names = [names[number] for number in order]
    if not is_dense(features):
        return _digest(sorted_names, _sparse_rows(features, order))
    blocks = _blocks(features.shape[0], len(names))
    return _digest(sorted_names, (_dense_rows(_pattern(features[start:end][:, order])) for start, end in blocks))


def _blocks(row_count: int, column_count: int) -> Iterator[tuple[int, int]]:
    step = max(1, _BLOCK_CELLS // max(1, column_count))
    return ((start, min(start + step, row_count)) for start in range(0, row_count, step))


def _digest(names: list[str], blocks: Iterator[bytes]) -> bytes:
    """`blocks` are digests of rows one after the other."""
    digest = hashlib.sha256(_ROWS_LABEL + len(names).to_bytes(8, "big"))
    for name in names:
        encoded = name.encode()
        digest.update(len(encoded).to_bytes(8, "big") + encoded)
    # Sorts as bytes do, whatever zeros stand at an end.
    digest.update(np.sort(np.frombuffer(b"".join(blocks), dtype=f"S{_DIGEST_BYTES}")).tobytes())
    return digest.digest()


def _pattern(values: FloatArray) -> Patterns:
    """The bits of each number: one zero, one NaN, which is an empty cell."""
    return np.where(np.isnan(values), np.nan, values + 0.0).view(np.uint64)


def _patterns_of_texts(column: TextColumn) -> Patterns:
    """By code; the last one is what code -1, an empty cell, finds."""
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


def _dense_rows(patterns: Patterns) -> bytes:
    """For each row the digest of the pairs (column, bits) that are not 0: the content of sparse rows."""
    row_count, column_count = patterns.shape
    pairs = np.empty((row_count, column_count, 2), dtype="<u8")
    pairs[..., 0], pairs[..., 1] = np.arange(column_count), patterns
    stored = patterns != 0
    if stored.all():
        return _hash_rows(pairs, column_count * np.arange(1, row_count + 1))
    return _hash_rows(pairs[stored], np.cumsum(stored.sum(axis=1)))


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
        yield _hash_rows(pairs, np.concatenate([[0], np.cumsum(stored)])[block.indptr[1:]])


def _hash_rows(pairs: npt.NDArray[np.uint64], ends: npt.NDArray[np.int64]) -> bytes:
    """The digests of rows one after the other; `ends` are the numbers of the pairs after each row's own."""
    data, bounds, sha256 = memoryview(pairs.tobytes()), [0, *(16 * ends).tolist()], hashlib.sha256
    return b"".join([sha256(data[start:end]).digest() for start, end in itertools.pairwise(bounds)])
