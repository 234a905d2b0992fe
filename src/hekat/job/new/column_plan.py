"""What becomes of a column in a new job: kept as numbers or as categories, or left out, and why."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from hekat.data.columns.found import is_category
from hekat.data.columns.specs import LEAST_ROWS_OF_FOUND, MISSING, OTHER
from hekat.data.profile.column_profile import ColumnProfile
from hekat.job.job_head import FOUND
from hekat.job.section import control_character

Kept: TypeAlias = Literal["numbers", "texts"]

# More different texts than that are no vocabulary: the most frequent are kept where they cover half of the rows.
MOST_CATEGORIES = 50
_LEAST_COVERED = 0.5
# In tables that are no mere example, what fewer rows hold is "other": it teaches nothing and can tell of one person.
RARE_ROWS = 5
_ROWS_WITHOUT_RARE = 200
# Whole numbers without a gap between them are numbers of records, but not in a handful of rows.
_LEAST_COUNTED = 20
# A column is still one of numbers where so many of its cells are, and its texts are few different ones.
_MOSTLY = 0.9
_MOST_ODD_TEXTS = 5

# As pandas calls the index of a data frame where it writes a Parquet file.
_FRAME_INDEX = re.compile(r"__index_level_\d+__")
_ID_NAME = re.compile(r"(^|.*[^a-z])(id|uuid|guid|index|key|record|nr|no|number)$|^(id|name)$", re.IGNORECASE)


@dataclass(frozen=True)
class ColumnPlan:
    """`kept` is None for a column that is left out, `why` then the reason and `cure` how to keep it all the same.

    `categories` of a column of texts, in order; `rare` is how many other texts it holds. `empty` are texts that stand
    for an empty cell, `gaps` how many cells are empty; `is_date` says that
    dates become days, `is_padded` that numbers begin with zeros, as codes do. `most_rows` hold the most frequent text.
    """

    name: str
    kept: Kept | None
    why: str = ""
    cure: str = ""
    categories: tuple[str, ...] = ()
    rare: int = 0
    empty: tuple[str, ...] = ()
    gaps: int = 0
    is_date: bool = False
    is_padded: bool = False
    most_rows: int = 0

    @property
    def may_be_found(self) -> bool:
        """Whether parties can find the categories together: they are few and short, and rows enough hold one."""
        is_few = len(self.categories) + self.rare <= MOST_CATEGORIES
        return is_few and self.most_rows >= LEAST_ROWS_OF_FOUND and all(map(is_category, self.categories))


def plan_column(column: ColumnProfile, least: int | None = None) -> ColumnPlan:
    """Decide by the facts of all files together. `least` is how many rows a category needs, unless said RARE_ROWS, or 1
    in small tables; with it no bucket of fewer rows is made. What a job cannot say of a column leaves it out."""
    plan = _by_facts(column, least)
    if "*" in plan.name and column_settings(plan, sees_all=True):
        return _left_out(plan.name, "* stands for any characters in a job", "rename the column in the table")
    if any(map(control_character, (*plan.categories, *plan.empty))):
        return _left_out(plan.name, "texts with line breaks or other control characters", "write them without")
    return plan


def _by_facts(column: ColumnProfile, least: int | None) -> ColumnPlan:
    name = column.name
    if column.strange is not None:
        return _left_out(name, f"values of type {column.strange}")
    if not column.filled:
        return _left_out(name, "empty in every row")
    if column.distinct == 1:
        return _left_out(name, "the same in every row")
    if column.dates and not column.texts and not column.numbers:
        return ColumnPlan(name, "numbers", gaps=column.empty, is_date=True)
    if _is_record(column):
        return _left_out(
            name, "names or numbers of records", "they differ in every row, and a model would learn them by heart"
        )
    if not column.texts and not column.dates:
        return _numbers(column)
    if column.numbers >= _MOSTLY * column.filled and not column.dates and len(column.odd) <= _MOST_ODD_TEXTS:
        return _numbers(column, tuple(sorted(column.odd)))
    return _texts(column, least)


def looks_like_ids(column: ColumnProfile) -> bool:
    """Whether the column's name says that it tells records apart."""
    return _ID_NAME.match(column.name) is not None


def column_settings(plan: ColumnPlan, *, sees_all: bool, may_find: bool = True) -> dict[str, Any]:
    """What the job says of a column that is kept, its name aside; nothing for numbers without gaps.

    `sees_all`: the plan is of all rows that there are, so that training meets no other text; otherwise the parties find
    categories together, where all of this table's fit and `may_find` says that they can. Gaps of numbers take the
    median that the parties find together, so that no number of a table stands in the job.
    """
    settings: dict[str, Any] = {"empty": list(plan.empty)} if plan.empty else {}
    if plan.kept == "numbers":
        return settings | ({"fill": "median"} if plan.gaps else {})
    finds = may_find and not sees_all and plan.may_be_found
    settings["categories"] = FOUND if finds else list(plan.categories)
    if plan.rare or not sees_all:
        settings["other"] = True
    else:
        settings["unknown"] = "ignore"
    if plan.gaps:
        settings["missing"] = "category"
    return settings


def _is_record(column: ColumnProfile) -> bool:
    if _FRAME_INDEX.fullmatch(column.name):
        return True
    if not column.is_unique or column.filled < 2:
        return False
    is_counted = column.is_whole and not column.texts and column.high - column.low == column.filled - 1
    is_counted = is_counted and column.filled >= _LEAST_COUNTED
    return looks_like_ids(column) or is_counted


def _numbers(column: ColumnProfile, empty: tuple[str, ...] = ()) -> ColumnPlan:
    gaps = column.empty + (column.texts if empty else 0)
    return ColumnPlan(column.name, "numbers", empty=empty, gaps=gaps, is_padded=column.is_padded)


def _texts(column: ColumnProfile, least: int | None) -> ColumnPlan:
    if column.counts is None or (column.distinct > MOST_CATEGORIES and _covered(column) < _LEAST_COVERED):
        return _left_out(
            column.name,
            "almost as many texts as rows" if column.is_unique else "too many different texts",
            "put them into groups in a column of the table",
        )
    usual = RARE_ROWS if column.rows >= _ROWS_WITHOUT_RARE else 1
    frequent = _frequent(column.counts, least or usual, fill_other=least is not None)
    if not frequent:
        return _left_out(
            column.name, "no text in enough rows to learn from", "put them into groups in a column of the table"
        )
    return ColumnPlan(
        column.name,
        "texts",
        categories=tuple(sorted(frequent)),
        rare=column.distinct - len(frequent),
        gaps=column.empty,
        most_rows=max(column.counts.values()),
    )


def _frequent(counts: Mapping[str, int], least: int, *, fill_other: bool) -> list[str]:
    """The texts that are categories of their own; where `fill_other`, the rest makes up `least` rows or is nothing."""
    ordered = sorted(counts, key=lambda text: (-counts[text], text))
    frequent = [text for text in ordered[:MOST_CATEGORIES] if counts[text] >= least and text not in (OTHER, MISSING)]
    rest = sum(counts.values()) - sum(counts[text] for text in frequent)
    while fill_other and 0 < rest < least and frequent:
        rest += counts[frequent.pop()]
    return frequent


def _covered(column: ColumnProfile) -> float:
    assert column.counts is not None
    return sum(count for _, count in column.counts.most_common(MOST_CATEGORIES)) / column.filled


def _left_out(name: str, why: str, cure: str = "") -> ColumnPlan:
    return ColumnPlan(name, None, why, cure)
