"""Texts of dates as numbers of days since 1970-01-01."""

from __future__ import annotations

import datetime
import math
from collections.abc import Collection
from dataclasses import replace

import numpy as np

from hekat.data.columns.specs import DEFAULT_MARKS
from hekat.data.raw_table import RawTable, TextColumn
from hekat.data.sources.object_columns import days_since_1970
from hekat.errors import InputError


def read_date_texts(raw: RawTable, dates: Collection[str], date_format: str | None) -> RawTable:
    """`raw` with its columns of texts among `dates` as days since 1970-01-01, NaN for a gap.

    `date_format` as strptime takes it, None for ISO 8601 (2024-02-29, also with a time). Raises InputError with the
    first row whose text is no such date; never shows it.
    """
    columns = dict(raw.columns)
    for name in dates:
        column = columns.get(name)
        if isinstance(column, TextColumn):
            days = np.array([*(parse_date(text, date_format) for text in column.texts), math.nan])
            unread = np.flatnonzero(np.isinf(days[column.codes]))
            if unread.size:
                raise InputError(
                    f"{raw.name}: column {name!r} holds texts that are no dates",
                    expected="dates such as 2024-02-29" if date_format is None else f"dates as {date_format}",
                    got=f"others in {unread.size} rows, first in {raw.place(int(unread[0]))}",
                    cure='say date_format = "%d.%m.%Y", or as it is, in the site file, or take the column off dates',
                )
            columns[name] = days[column.codes]
    return replace(raw, columns=columns)


def parse_date(text: str, date_format: str | None) -> float:
    """Days since 1970-01-01: NaN for a usual mark of a gap, infinite for any other text that is no such date."""
    if text in DEFAULT_MARKS:
        return math.nan
    try:
        if date_format is None:
            return days_since_1970(datetime.datetime.fromisoformat(text))
        return days_since_1970(datetime.datetime.strptime(text, date_format))
    except ValueError:
        return math.inf
