"""Columns of texts as they were read: which cells are empty, and how many rows hold each text."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

import numpy as np

from hekat.data.features import FloatArray
from hekat.data.number_text import shortest_whole, text_of
from hekat.data.raw_table import TextColumn


def with_marks(column: TextColumn, marks: frozenset[str]) -> TextColumn:
    """The column with the cells empty that hold one of `marks`."""
    is_mark = [text in marks or shortest_whole(text) in marks for text in column.texts]
    if not any(is_mark):
        return column
    return TextColumn(np.where(np.array([*is_mark, False])[column.codes], -1, column.codes), column.texts)


def texts_in_use(column: TextColumn) -> Mapping[str, int]:
    """How many rows hold each text."""
    counts = np.bincount(column.codes[column.codes >= 0], minlength=len(column.texts))
    found: Counter[str] = Counter()
    for text, count in zip(column.texts, counts.tolist(), strict=True):
        found[text] += count
    return +found


def as_texts(column: FloatArray) -> TextColumn:
    """Numbers as the texts of categories: 1.0 is "1"."""
    values, codes = np.unique(column, return_inverse=True)
    is_empty = np.isnan(column)
    return TextColumn(np.where(is_empty, -1, codes.reshape(-1)), tuple(text_of(value) for value in values))
