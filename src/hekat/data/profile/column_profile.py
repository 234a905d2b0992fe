"""What is known of one column after its rows have passed by: kinds of cells, range, different texts, first gaps."""

from __future__ import annotations

import datetime
import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from hekat.data.number_text import shortest_whole
from hekat.data.profile.cell_kinds import GAP_MARKS, CellKind, read_cell
from hekat.data.sources.date_texts import date_formats
from hekat.data.sources.object_columns import kind_of_type
from hekat.data.thousands import could_be_grouped, name_thousands_sign

# Beyond so many different cells a column is no vocabulary, and they are no longer counted.
MOST_DISTINCT = 10_000
_MOST_ODD = 20
_PADDED = re.compile(r"(?:^|\s)0\d+(?:\s|$)")


@dataclass(eq=False)
class ColumnProfile:
    """The facts on one column of one source, or of several where `merge` has joined them.

    Attributes:
        name: What the column is called.
        rows: Cells read.
        empty, numbers, dates, texts: How many of them are of each kind.
        points, commas: Numbers with a decimal point, and with a decimal comma.
        bare: Numbers without either.
        is_grouped: Whether each point or comma of numbers has one to three digits before it and three after it, as
            between thousands, and each number without one has at most three digits.
        grouped: How many texts are numbers with signs between thousands, such as 1.234.567.
        signs: What stands between the thousands of these, in words.
        is_padded: Whether a whole number begins with a zero, as codes such as 01234 do.
        low, high: The extremes of numbers; infinite where there are none.
        is_whole: Whether all numbers are whole.
        counts: How often each cell that is not empty stands there, numbers in their shortest form; None beyond
            MOST_DISTINCT different ones.
        odd: The same of cells that are neither number, date nor empty; at most 20 different ones are kept.
        formats: The formats that all its dates fit; None where there are no dates.
        strange: The type of values that no source can use; None where there are none.
        is_unique: Whether no cell stands there twice, gaps aside.
        first_empty, first_text: Where the first gap and the first text are: the line in the file, or the row's number.
    """

    name: str
    rows: int = 0
    empty: int = 0
    numbers: int = 0
    dates: int = 0
    texts: int = 0
    points: int = 0
    commas: int = 0
    bare: int = 0
    is_grouped: bool = True
    grouped: int = 0
    signs: set[str] = field(default_factory=set)
    is_padded: bool = False
    low: float = math.inf
    high: float = -math.inf
    is_whole: bool = True
    is_unique: bool = True
    first_empty: int | None = None
    first_text: int | None = None
    counts: Counter[str] | None = field(default_factory=Counter)
    odd: Counter[str] = field(default_factory=Counter)
    formats: frozenset[str] | None = None
    strange: str | None = None
    _seen: set[str] = field(default_factory=set, repr=False)

    def add_cells(self, cells: Sequence[str], lines: Sequence[int]) -> None:
        """Take the cells of the next rows, which stand in these lines."""
        self.rows += len(cells)
        empty, texts = self.empty, self.texts
        if self.texts or self.dates or self.commas or not self._add_plain_numbers(cells):
            filled: dict[str, int] = {}
            for raw, count in Counter(cells).items():
                text = raw.strip()
                if self._add_text(text, count) != "empty":
                    filled[text] = filled.get(text, 0) + count
            self._note_distinct(filled)
        if self.empty > empty and self.first_empty is None:
            self.first_empty = _first(cells, lines, "empty")
        if self.texts > texts and self.first_text is None:
            self.first_text = _first(cells, lines, "text")

    def add_values(self, values: Sequence[Any], lines: Sequence[int]) -> None:
        """Take the Python values of the next rows: numbers, texts, dates and None."""
        for kind in set(map(type, values)):
            if kind_of_type(kind) == "other":
                self.strange = kind.__name__
        self.add_cells([_cell_of(value) for value in values], lines)

    def _add_plain_numbers(self, cells: Sequence[str]) -> bool:
        """The quick way for a column that has held plain numbers and gaps alone so far; False where a cell is neither,
        and then nothing is noted."""
        filled, values = cells, _finite_numbers(cells)
        if values is None:
            filled = [cell for cell in cells if cell and cell not in GAP_MARKS]
            values = _finite_numbers(filled)
        if values is None or not filled:
            return False
        joined = " ".join(filled)
        if "_" in joined:
            return False
        self.empty += len(cells) - len(filled)
        self.numbers += len(filled)
        self.is_padded = self.is_padded or _PADDED.search(joined) is not None
        points = joined.count(".")
        self.points += points
        self.bare += len(filled) - points
        if self.is_grouped:
            self.is_grouped = all(map(could_be_grouped, filled))
        self.low, self.high = min(self.low, float(values.min())), max(self.high, float(values.max()))
        self.is_whole = self.is_whole and bool((values == np.rint(values)).all())
        if self.counts is not None or self.is_unique:
            self._note_distinct(Counter(filled))
        return True

    def _add_text(self, text: str, count: int) -> CellKind:
        cell = read_cell(text)
        if cell.kind == "empty":
            self.empty += count
        elif cell.kind == "number":
            self.numbers += count
            self.points += count * ("." in text)
            self.commas += count * cell.has_comma
            self.bare += count * ("." not in text and not cell.has_comma)
            self.is_grouped = self.is_grouped and could_be_grouped(text)
            self.is_padded = self.is_padded or _PADDED.search(text) is not None
            self.low, self.high = min(self.low, cell.value), max(self.high, cell.value)
            self.is_whole = self.is_whole and cell.value.is_integer()
        elif cell.kind == "date":
            self.dates += count
            fitting = date_formats(text)
            self.formats = fitting if self.formats is None else self.formats & fitting
        else:
            self.texts += count
            if sign := name_thousands_sign(text):
                self.grouped += count
                self.signs.add(sign)
            if text in self.odd or len(self.odd) <= _MOST_ODD:
                self.odd[text] += count
        return cell.kind

    def _note_distinct(self, counted: Mapping[str, int]) -> None:
        if self.counts is not None:
            for text, count in counted.items():
                self.counts[shortest_whole(text.strip())] += count
            if len(self.counts) > MOST_DISTINCT:
                self.counts = None
        if self.is_unique:
            known = len(self._seen)
            self._seen.update(counted)
            self.is_unique = len(self._seen) == known + sum(counted.values()) and (self.is_whole or bool(self.texts))
        if not self.is_unique:
            self._seen = set()

    @property
    def has_thousands(self) -> bool:
        """Whether its points or commas stand between thousands: 1.234 beside 850 is no number below two."""
        return self.is_grouped and self.bare > 0 and self.points + self.commas > 0

    @property
    def thousands_signs(self) -> str:
        """What stands between thousands in a column of numbers, in words; "" where nothing does.

        A column of numbers may be one of texts to a reader: 1.234.567 is no number as it is written.
        """
        if self.grouped and self.grouped == self.texts and not self.dates:
            return " and ".join(sorted(self.signs))
        is_numbers = not self.texts and not self.dates
        return ("commas" if self.commas else "points") if is_numbers and self.has_thousands else ""

    @property
    def filled(self) -> int:
        """Cells that are not empty."""
        return self.rows - self.empty

    @property
    def distinct(self) -> int:
        """How many different cells there are, gaps aside; MOST_DISTINCT + 1 for more than that."""
        return MOST_DISTINCT + 1 if self.counts is None else len(self.counts)

    @property
    def distinct_cells(self) -> frozenset[str]:
        """All cells of a column that `is_unique`; nothing else keeps them."""
        return frozenset(cell.strip() for cell in self._seen)


def _cell_of(value: Any) -> str:
    """A value as the cell that a text file has for it."""
    if value is None or value != value:
        return ""
    if isinstance(value, bool):
        return str(int(value))
    return value.isoformat() if isinstance(value, datetime.date) else str(value)


def _finite_numbers(cells: Sequence[str]) -> npt.NDArray[np.float64] | None:
    try:
        values = np.array(list(map(float, cells)))
    except ValueError:
        return None
    return values if np.isfinite(values).all() else None


def _first(cells: Sequence[str], lines: Sequence[int], kind: CellKind) -> int:
    return next(line for cell, line in zip(cells, lines, strict=True) if read_cell(cell.strip()).kind == kind)


def merge_columns(parts: Sequence[ColumnProfile]) -> ColumnProfile:
    """The facts on the column of all these sources together. `is_unique`: it is so in each of them. The places of
    first cells are taken from the first source that has one."""
    first = parts[0]
    merged = ColumnProfile(first.name)
    for name in ("rows", "empty", "numbers", "dates", "texts", "points", "commas", "bare", "grouped"):
        setattr(merged, name, sum(getattr(part, name) for part in parts))
    merged.signs = set().union(*(part.signs for part in parts))
    merged.low, merged.high = min(part.low for part in parts), max(part.high for part in parts)
    merged.is_whole = all(part.is_whole for part in parts)
    merged.is_grouped = all(part.is_grouped for part in parts)
    merged.is_padded = any(part.is_padded for part in parts)
    merged.is_unique = all(part.is_unique for part in parts)
    for name in ("first_empty", "first_text"):
        places = [getattr(part, name) for part in parts]
        setattr(merged, name, next((place for place in places if place is not None), None))
    merged.strange = next((part.strange for part in parts if part.strange), None)
    merged.counts = Counter()
    for part in parts:
        merged.odd.update(part.odd)
        if part.counts is None or merged.counts is None:
            merged.counts = None
        else:
            merged.counts.update(part.counts)
    if merged.counts is not None and len(merged.counts) > MOST_DISTINCT:
        merged.counts = None
    return merged
