"""What a job could say of a column with empty cells or texts, from all tables that are here."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from hekat.data.columns.specs import ANY_TEXT, DEFAULT_MARKS, MISSING, OTHER, ColumnSpecs
from hekat.data.number_text import order_of_text, read_number, shortest_whole, text_of
from hekat.data.raw_table import RawColumn, TextColumn
from hekat.data.thousands import only_thousands_sign

MOST_CATEGORIES = 100
LEAST_ROWS_OF_A_TEXT = 2
MOST_ODD_TEXTS = 20
# A column of numbers with fewer texts than that has marks of its own for an empty cell.
MOST_ODD_FRACTION = 0.1
# What is longer is no name of a category.
MOST_CHARACTERS = 60

Value = str | float | bool | tuple[str, ...]


@dataclass(frozen=True)
class Proposal:
    """Keys of [columns.COLUMN] with their values, and what to think of before they are taken."""

    column: str
    values: Mapping[str, Value]
    comments: tuple[str, ...] = field(default=())


def propose(column: str, found: Mapping[str, RawColumn], specs: ColumnSpecs) -> Proposal:
    """What the job could say of a column, as these tables hold it: said so, all of them can be loaded.

    A job is shown to every party, so no text is in it that one row alone holds.

    Args:
        column: What the column is called.
        found: The column as it was read from each table.
        specs: What the job says already.

    Returns:
        Fills for numbers; categories, in their order, for texts; `ignore` for what looks like free text or ids.
    """
    spec = specs.find(column)
    listed = () if spec is None else spec.categories
    marks = frozenset(DEFAULT_MARKS) if spec is None else spec.marks
    empty, counts = 0, Counter[str]()
    for one in found.values():
        count, texts = _count(one, marks)
        empty, counts = empty + count, counts + texts
    if not counts:
        if spec is not None and spec.found:
            # Other parties' tables may have its categories.
            return Proposal(column, {"missing": "category"}, ("empty in every row here",))
        return Proposal(column, {"ignore": True}, ("empty in every row here",))
    kept: dict[str, Value] = {}
    if spec is not None and spec.empty:
        kept["empty"] = spec.empty
    numbers = sum(count for text, count in counts.items() if _is_number(text))
    odd = [text for text in counts if not _is_number(text)]
    rows = counts.total()
    if odd and not listed and all(only_thousands_sign(text) for text in odd):
        sign = only_thousands_sign(odd[0])
        return Proposal(column, {}, (f"numbers with {sign} between thousands: write them without in the tables",))
    if not listed and not odd:
        filled: dict[str, Value] = {**kept, "fill": "median"} if empty else {}
        return Proposal(column, filled, _comma_comment(found, counts))
    if not listed and len(odd) <= MOST_ODD_TEXTS and rows - numbers <= MOST_ODD_FRACTION * rows and _are_names(odd):
        given = spec.empty if spec is not None else ()
        marks_of_job = tuple(sorted(odd)) if all(counts[text] >= LEAST_ROWS_OF_A_TEXT for text in odd) else (ANY_TEXT,)
        return Proposal(
            column,
            {"empty": (*given, *marks_of_job), "fill": "median"},
            ("texts among numbers are taken for empty cells",),
        )
    strangers = Counter[str]()
    for text, count in counts.items():
        if text not in listed and shortest_whole(text) not in listed:
            strangers[shortest_whole(text)] += count
    several = {text for text, count in strangers.items() if count >= LEAST_ROWS_OF_A_TEXT}
    rare = len(strangers) - len(several)
    texts_of_all = (*listed, *sorted(several, key=order_of_text))
    is_free = len(texts_of_all) > max(MOST_CATEGORIES, len(listed)) or (not listed and len(counts) > max(2, rows // 2))
    is_free = is_free or not texts_of_all
    if is_free or not _are_names(texts_of_all):
        if listed:
            return Proposal(
                column,
                {"categories": listed, "other": True, **_gaps(empty, listed)},
                (f"{len(strangers)} other texts count as one category",),
            )
        return Proposal(
            column, {"ignore": True}, (f"{len(counts)} different values in {rows:,} rows: free text, dates or ids?",)
        )
    other: dict[str, Value] = {"other": True} if rare or (spec is not None and spec.other) else {}
    comments = (f"{rare} more, of one row each, count as one category",) if rare else ()
    return Proposal(column, {**kept, "categories": texts_of_all, **other, **_gaps(empty, texts_of_all)}, comments)


def _is_number(text: str) -> bool:
    return read_number(text) is not None or read_number(text, ",") is not None


def _comma_comment(found: Mapping[str, RawColumn], counts: Counter[str]) -> tuple[str, ...]:
    if all(read_number(text) is not None for text in counts):
        return ()
    tables = [name for name, one in found.items() if isinstance(one, TextColumn)]
    return (f'numbers with a decimal comma: say decimal = "," in the site file for {", ".join(tables)}',)


def _gaps(empty: int, categories: tuple[str, ...]) -> dict[str, Value]:
    """What is said of empty cells of a category."""
    if not empty:
        return {}
    return {"fill": "most_frequent"} if MISSING in categories else {"missing": "category"}


def _are_names(texts: tuple[str, ...] | list[str]) -> bool:
    """Whether texts can be listed in a job as categories."""
    return all(len(text) <= MOST_CHARACTERS and text.isprintable() and text != OTHER for text in texts)


def _count(column: RawColumn, marks: frozenset[str]) -> tuple[int, Counter[str]]:
    """How many cells are empty, and how many rows hold each other value."""
    if isinstance(column, TextColumn):
        counts = np.bincount(column.codes + 1, minlength=len(column.texts) + 1)
        empty, pairs = int(counts[0]), zip(column.texts, counts[1:].tolist(), strict=True)
    else:
        values, found = np.unique(column[~np.isnan(column)], return_counts=True)
        empty = int(np.isnan(column).sum())
        pairs = zip(map(text_of, values.tolist()), found.tolist(), strict=True)
    texts: Counter[str] = Counter()
    for text, count in pairs:
        if text in marks or shortest_whole(text) in marks:
            empty += count
        elif count:
            texts[text] += count
    return empty, texts
