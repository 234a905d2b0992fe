"""Finds columns whose points or commas may stand between thousands: 1.234 beside 850 is no number below two."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence

import numpy as np
import numpy.typing as npt

from hekat.data.number_text import read_number
from hekat.first_few import first_few

_GROUPED = re.compile(r"\s*[+-]?([1-9]\d{0,2}[.,]\d{3}|\d{1,3})\s*")
# Texts that no source reads as a number: several signs between thousands, or one and then a decimal sign.
_GROUPED_TEXT = re.compile(
    r"[+-]?[1-9]\d{0,2}(?P<sign>[.,'\u2019 \u00a0\u202f])\d{3}((?P=sign)\d{3})*((?!(?P=sign))[.,]\d+)?"
)
_SIGNS = {".": "points", ",": "commas", "'": "apostrophes", "\u2019": "apostrophes"}
# A sentence names so many columns, and counts the others.
_MOST_COLUMNS_NAMED = 8

Flags = npt.NDArray[np.bool_]
Counts = npt.NDArray[np.int64]


def could_be_grouped(number: str) -> bool:
    """Whether a number has a point or comma where one stands between thousands, or is below a thousand without one."""
    return _GROUPED.fullmatch(number) is not None


def name_thousands_sign(text: str) -> str:
    """What stands between the thousands of a text such as 1.234.567 or 1.234,50, in words; "" for any other text."""
    found = _GROUPED_TEXT.fullmatch(text)
    return "" if found is None else _SIGNS.get(found["sign"], "spaces")


def only_thousands_sign(text: str) -> str:
    """The same where no decimal sign makes a number of the text: of 1.234.567 and 1,234.50, not of 1.234."""
    is_number = any(read_number(text, decimal) is not None for decimal in (".", ","))
    return "" if is_number else name_thousands_sign(text)


def have_thousands(numbers: Iterable[str]) -> bool:
    """Whether these are numbers with a sign where one stands between thousands beside some below a thousand."""
    kinds = set()
    for number in numbers:
        if not could_be_grouped(number):
            return False
        kinds.add("." in number or "," in number)
    return len(kinds) == 2


class ThousandsSigns:
    """Looks at the cells of columns of numbers, a block at a time; gives a column up at the first number that has its
    sign elsewhere, or more than three digits and none.

    Args:
        column_count: How many columns there are; they are counted from 0.
        decimal: The decimal sign that numbers are read with.
        missing: Texts that count as an empty cell.
    """

    def __init__(self, column_count: int, decimal: str, missing: Collection[str] = ()) -> None:
        self._decimal, self._missing = decimal, frozenset(missing)
        self._is_open = np.ones(column_count, dtype=np.bool_)
        self._has_sign = np.zeros(column_count, dtype=np.bool_)
        self._has_bare = np.zeros(column_count, dtype=np.bool_)

    @property
    def open_columns(self) -> Counts:
        """The columns that are still looked at."""
        return np.flatnonzero(self._is_open)

    def add_digits(self, columns: Counts, whole: Counts, part: Counts, leads: Flags, is_number: Flags) -> None:
        """Take numbers (rows, len(columns)) by their digits before and after the decimal sign, -1 after none.

        `leads` says that the first digit is not 0; cells that are not `is_number` are passed over.
        """
        has_sign = (part == 3) & (whole >= 1) & (whole <= 3) & leads
        is_bare = (part == -1) & (whole >= 1) & (whole <= 3)
        self._is_open[columns] = ~(is_number & ~has_sign & ~is_bare).any(axis=0)
        self._has_sign[columns] |= (is_number & has_sign).any(axis=0)
        self._has_bare[columns] |= (is_number & is_bare).any(axis=0)

    def add_cell(self, column: int, cell: str) -> None:
        """Take one cell; what is no number is passed over."""
        if not self._is_open[column] or cell.strip() in self._missing or read_number(cell, self._decimal) is None:
            return
        if not could_be_grouped(cell):
            self._is_open[column] = False
        elif self._decimal in cell:
            self._has_sign[column] = True
        else:
            self._has_bare[column] = True

    def add_rows(self, rows: Sequence[Sequence[str]]) -> None:
        """Take the cells of all columns, a row at a time."""
        for column in self.open_columns.tolist():
            for row in rows:
                self.add_cell(column, row[column])
                if not self._is_open[column]:
                    break

    @property
    def found(self) -> Counts:
        """The columns that hold both numbers with a sign between thousands and numbers below a thousand without one."""
        return np.flatnonzero(self._is_open & self._has_sign & self._has_bare)


def note_on_thousands(columns: Collection[str], decimal: str) -> str:
    """A sentence for the owner of a table with such `columns`; it names no value of theirs."""
    shown = first_few([*map(repr, columns)], _MOST_COLUMNS_NAMED)
    signs = "points" if decimal == "." else "commas"
    return (
        f"{'column' if len(columns) == 1 else 'columns'} {shown}: look for {signs} between thousands: numbers such "
        f"as 1{decimal}234, which is read as one below two, stand beside whole ones below 1,000 and no others; where "
        f"these {signs} are no decimal sign, write the numbers without them"
    )
