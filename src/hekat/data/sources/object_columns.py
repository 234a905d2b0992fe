"""Columns of Python values, as databases, spreadsheets and data frames give them, as numbers with gaps or texts."""

from __future__ import annotations

import datetime
import decimal
import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NoReturn, TypeAlias

import numpy as np
import numpy.typing as npt

from hekat.data.number_text import text_of
from hekat.data.raw_table import RawColumn, TextColumn
from hekat.errors import InputError

# Whole numbers up to here are float64 numbers without loss; larger ones are mostly ids.
MAX_WHOLE = 2**53
_EPOCH = datetime.date(1970, 1, 1).toordinal()
_SECONDS_PER_DAY = 86400

Kind: TypeAlias = Literal["missing", "number", "text", "date", "other"]


@dataclass(frozen=True)
class ColumnReading:
    """How values are read: `what` names the column in errors, `missing` are texts that count as an empty cell,
    `is_date` says that dates become days since 1970-01-01."""

    what: str
    missing: Collection[str] = ("",)
    is_date: bool = False


def read_column(values: Sequence[Any], reading: ColumnReading) -> RawColumn:
    """`values` (rows,) as numbers, NaN for a gap, or as texts, stripped; numbers beside texts become texts.

    Numbers are int, float, bool, Decimal and NumPy's. Raises InputError for anything else, for dates beside others and
    for whole numbers beyond 2^53; it names the column and the row (1 is the first), never a value.
    """
    kinds = {kind: kind_of_type(kind) for kind in set(map(type, values))}
    found = set(kinds.values())
    if "text" in found:
        values = [strip_text(value, reading.missing) if isinstance(value, str) else value for value in values]
        found = {kinds.get(type(value), "missing") for value in values}
    found.discard("missing")
    if "other" in found:
        stranger = next(kind for kind, named in kinds.items() if named == "other")
        got = f"values of type {stranger.__name__}, first in row {_first(values, stranger)}"
        _refuse(reading, "numbers, truth values, texts or dates", got)
    if found == {"date"}:
        return _days(values, reading)
    if "date" in found:
        row = _first(values, str if "text" in found else int | float | decimal.Decimal)
        _refuse(reading, "dates alone in a column that holds some", f"something else, first in row {row}")
    if "text" in found:
        return text_column(
            [value if value is None or isinstance(value, str) else text_of(float(value)) for value in values]
        )
    return _numbers(values, reading)


def kind_of_type(kind: type) -> Kind:
    """What values of a Python type are."""
    if kind is type(None):
        return "missing"
    if issubclass(kind, str):
        return "text"
    if issubclass(kind, bool | int | float | decimal.Decimal | np.number | np.bool_):
        return "number"
    return "date" if issubclass(kind, datetime.date | np.datetime64) else "other"


def strip_text(value: str, missing: Collection[str]) -> str | None:
    """A text without spaces at its ends; None where it counts as an empty cell."""
    text = value.strip()
    return None if not text or text in missing else text


def text_column(values: Sequence[str | None]) -> TextColumn:
    """Texts as codes in the order of their first appearance; None is an empty cell."""
    known: dict[str, int] = {}
    codes = [-1 if value is None else known.setdefault(value, len(known)) for value in values]
    return TextColumn(np.array(codes, dtype=np.int64), tuple(known))


def days_since_1970(value: datetime.date) -> float:
    """A date as a number of days; of a date with a time, its part of the day too. Zones count from UTC."""
    if isinstance(value, datetime.datetime):
        if value.tzinfo is not None:
            value = value.astimezone(datetime.UTC)
        since_midnight = value.hour * 3600 + value.minute * 60 + value.second + value.microsecond / 1e6
        return value.toordinal() - _EPOCH + since_midnight / _SECONDS_PER_DAY
    return float(value.toordinal() - _EPOCH)


def refuse_dates(what: str) -> NoReturn:
    """Raise InputError for a feature of dates that nobody asked to be converted."""
    raise InputError(
        f"{what} holds dates",
        expected="numbers, truth values or texts",
        got="dates",
        cure='in the site file, dates = ["COLUMN"] makes days since 1970-01-01 of them, ignore leaves the column out',
    )


def _as_text(value: Any) -> str | None:
    return value if value is None or isinstance(value, str) else text_of(float(value))


def _numbers(values: Sequence[Any], reading: ColumnReading) -> npt.NDArray[np.float64]:
    numbers = np.array([math.nan if value is None else float(value) for value in values], dtype=np.float64)
    large = np.flatnonzero(np.abs(np.nan_to_num(numbers, nan=0.0, posinf=0.0, neginf=0.0)) > MAX_WHOLE)
    for row in large.tolist():
        if not isinstance(values[row], float | np.floating):
            refuse_large_whole(reading.what)
    return numbers


def refuse_large_whole(what: str) -> NoReturn:
    """Raise InputError for whole numbers that float64 cannot hold."""
    raise InputError(
        f"{what} holds whole numbers that float64 cannot",
        expected="magnitudes up to 2^53",
        got="a larger one",
        cure="name the column under id or ignore in the site file, or change its unit",
    )


def _days(values: Sequence[Any], reading: ColumnReading) -> npt.NDArray[np.float64]:
    if not reading.is_date:
        refuse_dates(reading.what)
    return np.array([math.nan if value is None else days_since_1970(value) for value in values], dtype=np.float64)


def _refuse(reading: ColumnReading, expected: str, got: str) -> NoReturn:
    raise InputError(
        f"{reading.what} cannot be used",
        expected=expected,
        got=got,
        cure="convert it, or name the column under ignore in the site file",
    )


def _first(values: Sequence[Any], kind: Any) -> int:
    return next(number for number, value in enumerate(values, start=1) if isinstance(value, kind))
