"""Counts the rows of test data that a model was trained on: metrics on those say nothing of new rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt

from hekat.data.features import Features, is_dense
from hekat.data.table import Table

Words = npt.NDArray[np.uint64]
# Cells of one block of rows: 32 MiB of words.
_BLOCK_CELLS = 2**22
# The finaliser of SplitMix64 (Steele, Lea, Flood, OOPSLA 2014): every bit of a word moves every bit of the result.
_STEP = np.uint64(0x9E3779B97F4A7C15)
_FACTORS = (np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB))
_SHIFTS = (np.uint64(30), np.uint64(27), np.uint64(31))


def count_repeated(test: Table, training: Sequence[Table]) -> int:
    """How many rows of `test` are rows of `training`, value for value in features and labels; columns in one order.

    Where all tables have ids, a row is one of `training` only with its id. Without ids a row that stands twice in
    `training` may well be another one that looks alike, as in a table of few categories: it counts only where `test`
    is a table of `training` as a whole, or all of them together.
    """
    found, known = _words_of(test), [_words_of(table) for table in training]
    if not len(found) or not known:
        return 0
    if test.ids is not None and all(table.ids is not None for table in training):
        ids = {one: word for table, words in zip(training, known, strict=True) for one, word in _by_id(table, words)}
        return sum(ids.get(one) == word for one, word in _by_id(test, found))
    together = np.concatenate(known)
    if any(_are_same_rows(found, words) for words in (*known, together)):
        return len(found)
    rows, counts = np.unique(together, return_counts=True)
    return int(np.isin(found, rows[counts == 1]).sum())


def _by_id(table: Table, words: Words) -> Iterator[tuple[bytes, int]]:
    assert table.ids is not None
    return zip(table.ids.to_bytes(), words.tolist(), strict=True)


def _are_same_rows(one: Words, other: Words) -> bool:
    return one.size == other.size and bool((np.sort(one) == np.sort(other)).all())


def _words_of(table: Table) -> Words:
    """A word for each row, the same for the same values; sparse rows have the words of dense ones."""
    words = _words_of_features(table.features)
    if table.labels is not None and table.labels.dtype.kind in "biuf":
        words += _mixed(table.labels.astype(np.float64), np.uint64(0))
    return words


def _words_of_features(features: Features) -> Words:
    row_count, column_count = features.shape
    # Wraps around on purpose, as all sums and products of words here.
    places = (np.arange(column_count, dtype=np.uint64) + np.uint64(1)) * _STEP
    words = np.zeros(row_count, dtype=np.uint64)
    if is_dense(features):
        step = max(1, _BLOCK_CELLS // max(1, column_count))
        for start in range(0, row_count, step):
            words[start : start + step] = _mixed(features[start : start + step], places).sum(axis=1, dtype=np.uint64)
        return words
    rows = np.repeat(np.arange(row_count), np.diff(features.indptr))
    np.add.at(words, rows, _mixed(features.data, places[features.indices]))
    return words


def _mixed(values: npt.NDArray[np.float64], places: Words | np.uint64) -> Words:
    """A word for each value at its place; 0 for zero, which sparse rows leave out."""
    return _finalised((values + 0.0).view(np.uint64) + places) - _finalised(np.zeros(1, dtype=np.uint64) + places)


def _finalised(words: Words) -> Words:
    words = (words ^ (words >> _SHIFTS[0])) * _FACTORS[0]
    words = (words ^ (words >> _SHIFTS[1])) * _FACTORS[1]
    return words ^ (words >> _SHIFTS[2])
