"""What one cell is: empty, a number, a number with a decimal comma, a date, or a text."""

from __future__ import annotations

import math
import re
from typing import Literal, NamedTuple, TypeAlias

CellKind: TypeAlias = Literal["empty", "number", "date", "text"]

# Texts that are written where nothing is known.
GAP_MARKS = frozenset(("NA", "N/A", "n/a", "#N/A", "<NA>", "NaN", "nan", "NULL", "null", "None", "?"))

_COMMA_NUMBER = re.compile(r"[+-]?(\d+,\d*|,\d+)([eE][+-]?\d+)?")
_TIME = r"([T ]\d{2}:\d{2}(:\d{2}(\.\d+)?)?(Z|[+-]\d{2}:?\d{2})?)?"
_DATES = tuple(
    re.compile(date + _TIME)
    for date in (
        r"\d{4}-\d{1,2}-\d{1,2}",
        r"\d{4}/\d{1,2}/\d{1,2}",
        r"\d{1,2}\.\d{1,2}\.\d{4}",
        r"\d{1,2}/\d{1,2}/\d{4}",
        r"\d{1,2}-\d{1,2}-\d{4}",
    )
)


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
    return DATE if text[0].isdigit() and any(date.fullmatch(text) for date in _DATES) else TEXT
