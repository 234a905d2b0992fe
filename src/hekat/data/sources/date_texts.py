"""Texts of dates as numbers of days since 1970-01-01."""

from __future__ import annotations

import datetime
import math
import re
from collections.abc import Collection, Mapping
from dataclasses import replace

import numpy as np

from hekat.data.columns.specs import DEFAULT_MARKS
from hekat.data.raw_table import RawTable, TextColumn
from hekat.data.sources.object_columns import days_since_1970
from hekat.errors import InputError

ISO = "ISO 8601"
_DATE = re.compile(r"(\d{1,4})([-/.])(\d{1,2})\2(\d{1,4})([T ]\d{2}:\d{2}.*)?")
_TIMES = ("%H:%M", "%H:%M:%S", "%H:%M:%S.%f")


def read_date_texts(raw: RawTable, dates: Collection[str], date_format: str | None) -> RawTable:
    """`raw` with its columns of texts among `dates` as days since 1970-01-01, NaN for a gap.

    `date_format` as strptime takes it, None for ISO 8601 (2024-02-29, also with a time). Raises InputError with the
    first row whose text is no such date, and the format that all these columns fit, if any; it never shows a text.
    """
    held = {name: column for name in dates if isinstance(column := raw.columns.get(name), TextColumn)}
    columns = dict(raw.columns)
    for name, column in held.items():
        days = np.array([*(parse_date(text, date_format) for text in column.texts), math.nan])
        unread = np.flatnonzero(np.isinf(days[column.codes]))
        if unread.size:
            raise InputError(
                f"{raw.name}: column {name!r} holds texts that are no dates",
                expected="dates such as 2024-02-29" if date_format is None else f"dates as {date_format}",
                got=f"others in {unread.size:,} rows, first in {raw.place(int(unread[0]))}",
                cure=_cure(name, held),
            )
        columns[name] = days[column.codes]
    return replace(raw, columns=columns)


def _cure(name: str, held: Mapping[str, TextColumn]) -> str:
    """What can work: one format is said of all columns of dates of a table."""
    forms = {one: _common_formats(column.texts) for one, column in held.items()}
    everywhere = frozenset.intersection(*forms.values())
    if ISO in everywhere:
        return "leave date_format out of the site file: all dates of this table are ISO 8601"
    if everywhere:
        found = " or ".join(f'date_format = "{one}"' for one in sorted(everywhere))
        return f"say {found} in the site file, whichever the dates are meant in"
    if forms[name]:
        return f"write the dates of {', '.join(map(repr, held))} in one form, or take {name!r} off dates and ignore it"
    return (
        f"write all dates of {name!r} in one form, such as 2024-02-29, or take it off dates in the site file and put "
        "it under ignore"
    )


def _common_formats(texts: Collection[str]) -> frozenset[str]:
    """The formats in which all of these texts are dates, usual marks of a gap aside."""
    forms = [date_formats(text) for text in texts if text not in DEFAULT_MARKS]
    return frozenset.intersection(*forms) if forms else frozenset()


def looks_like_date(text: str) -> bool:
    """Whether three numbers with one sign between them begin a text, as in a date."""
    return text[:1].isdigit() and _DATE.fullmatch(text) is not None


def date_formats(text: str) -> frozenset[str]:
    """The formats, as strptime takes them, or ISO, in which a text is a date; several where day and month are not told
    apart."""
    found = _DATE.fullmatch(text)
    if found is None:
        return frozenset()
    first, sign, last, time = found[1], found[2], found[4], found[5]
    candidates = []
    if len(first) == 4:
        candidates.append(f"%Y{sign}%m{sign}%d")
    elif len(last) == 4:
        candidates.append(f"%d{sign}%m{sign}%Y")
        candidates += [] if sign == "." else [f"%m{sign}%d{sign}%Y"]
    if time:
        candidates = [f"{one}{time[0]}{of_day}" for one in candidates for of_day in _TIMES]
    fitting = [one for one in [ISO, *candidates] if math.isfinite(parse_date(text, None if one == ISO else one))]
    return frozenset(fitting[:1] if ISO in fitting else fitting)


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
