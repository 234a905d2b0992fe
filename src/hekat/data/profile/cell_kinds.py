"""What one cell is: empty, a number, a number with a decimal comma, a date, or a text."""

from __future__ import annotations

import math
import re
from typing import Literal, NamedTuple, TypeAlias

from hekat.data.columns.specs import DEFAULT_MARKS
from hekat.data.sources.date_texts import looks_like_date

CellKind: TypeAlias = Literal["empty", "number", "date", "text"]

GAP_MARKS = frozenset(DEFAULT_MARKS)

_COMMA_NUMBER = re.compile(r"[+-]?(\d+,\d*|,\d+)([eE][+-]?\d+)?")


class Cell(NamedTuple):
    """`value` is a number's, NaN for all else; `has_comma` says that its decimal sign is a comma."""

    kind: CellKind
    value: float = math.nan
    has_comma: bool = False


EMPTY, TEXT, DATE = Cell("empty"), Cell("text"), Cell("date")


def read_cell(text: str) -> Cell:
    """What a cell is that has no spaces at its ends."""
    if not text or text in GAP_MARKS:
        return EMPTY
    try:
        value = float(text)
    except ValueError:
        pass
    else:
        return Cell("number", value) if math.isfinite(value) and "_" not in text else TEXT
    if "," in text and _COMMA_NUMBER.fullmatch(text):
        return Cell("number", float(text.replace(",", ".")), has_comma=True)
    return DATE if looks_like_date(text) else TEXT
