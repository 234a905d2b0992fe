"""What the tables of a new job suggest: its label and classes, and what becomes of each column."""

from __future__ import annotations

import datetime
import difflib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from hekat.data.number_text import shortest_whole
from hekat.data.profile.column_profile import ColumnProfile, merge_columns
from hekat.data.profile.table_profile import TableProfile
from hekat.data.sources.date_texts import ISO
from hekat.errors import InputError
from hekat.first_few import first_few
from hekat.job.new.column_plan import ColumnPlan, column_settings, plan_column
from hekat.protocol.secure_sum.exponents import MOST_EXPONENT

LABEL_NAMES = ("label", "target", "class", "outcome", "y", "diagnosis")
MOST_CLASSES = 20
_MOST_SHOWN = 5


@dataclass(frozen=True)
class LabelPlan:
    """`classes` are empty for numbers that are predicted. `is_guess`: nobody named the column."""

    name: str
    classes: tuple[str, ...]
    is_guess: bool


@dataclass(frozen=True)
class TablePlan:
    """One plan for the tables of parties with the same columns.

    `columns` are those that all tables have, the label aside; `missing_at` names for every other column the tables that
    lack it. `problems` are what makes `hekat run` refuse rows as they are.
    """

    tables: tuple[TableProfile, ...]
    label: LabelPlan
    columns: tuple[ColumnPlan, ...]
    missing_at: dict[str, tuple[str, ...]] = field(default_factory=dict)
    problems: tuple[str, ...] = ()

    @property
    def rows(self) -> int:
        return sum(table.rows for table in self.tables)

    @property
    def kept(self) -> tuple[ColumnPlan, ...]:
        return tuple(column for column in self.columns if column.kept is not None)

    @property
    def left_out(self) -> tuple[ColumnPlan, ...]:
        return tuple(column for column in self.columns if column.kept is None)

    def settings(self, *, sees_all: bool, may_find: bool = True) -> dict[str, dict[str, Any]]:
        """What the job says of columns; `sees_all` and `may_find` as `column_settings` takes them."""
        said = {column.name: column_settings(column, sees_all=sees_all, may_find=may_find) for column in self.kept}
        return {name: settings for name, settings in said.items() if settings}

    def describe(self) -> dict[str, str]:
        """What becomes of each column, the label aside."""
        kept = {column.name: column.kept or f"left out: {column.why}" for column in self.columns}
        return kept | {name: f"left out: not in {', '.join(at)}" for name, at in self.missing_at.items()}

    def ignored_in(self, table: TableProfile) -> tuple[str, ...]:
        """The columns of a table that are left out, in its order."""
        out = {column.name for column in self.left_out} | set(self.missing_at)
        return tuple(name for name in table.columns if name in out)


def plan_tables(
    tables: Sequence[TableProfile], label: str | None = None, classes: Sequence[str] | None = None
) -> TablePlan:
    """Plan a job on tables with the same columns and different rows.

    Columns that not all tables have are left out. `label` names the label's column and `classes` what it can hold,
    where they are known. Raises InputError for a label that is not everywhere, for labels that are neither classes nor
    numbers, and where no column is left to learn from; it says how the tables' columns differ.
    """
    first = tables[0]
    everywhere = [name for name in first.columns if all(name in table.columns for table in tables)]
    missing_at = {
        name: tuple(table.name for table in tables if name not in table.columns)
        for name in dict.fromkeys(name for table in tables for name in table.columns)
        if name not in everywhere
    }
    chosen = _label_of(tables, everywhere, label)
    merged = {name: merge_columns([table.columns[name] for table in tables]) for name in everywhere}
    plans = tuple(_plan_to_sum(merged[name], tables) for name in everywhere if name != chosen)
    check_columns_left(_names_of(tables), plans, missing_at)
    if classes is None:
        _check_labels_alike({table.name: table.columns[chosen] for table in tables})
    plan = LabelPlan(chosen, _classes_of(merged[chosen], classes), label is None)
    return TablePlan(
        tuple(tables), plan, plans, missing_at, problems_of(tables, {table.name: chosen for table in tables})
    )


def _plan_to_sum(column: ColumnProfile, tables: Sequence[TableProfile]) -> ColumnPlan:
    """The plan for a column whose sums over all parties' rows standardise it: they bear no larger values."""
    plan = plan_in_tables(column, tables)
    if plan.kept == "numbers" and not plan.is_date and max(-column.low, column.high) > 2.0**MOST_EXPONENT:
        why = f"values beyond 2^{MOST_EXPONENT}, as of record numbers or of times in small units"
        return ColumnPlan(column.name, None, why, "write it in a larger unit")
    return plan


def plan_in_tables(column: ColumnProfile, tables: Sequence[TableProfile], least: int | None = None) -> ColumnPlan:
    """Decide by the column's facts in all tables, and leave it out where one of them writes it unlike its others."""
    plan = plan_column(column, least)
    for table in tables:
        held = table.columns[column.name]
        if plan.is_date and held.dates and table.date_format not in (held.formats or ()):
            return _unclear_dates(column.name, table, held)
        if (plan.kept == "numbers" or held.grouped) and not plan.is_date and held.thousands_signs:
            why = f"{held.thousands_signs} between thousands in {table.name}"
            return ColumnPlan(column.name, None, why, "write numbers without them")
        if plan.kept == "numbers" and (held.commas if table.dialect.decimal == "." else held.points):
            sign = "commas" if table.dialect.decimal == "." else "points"
            return ColumnPlan(
                column.name,
                None,
                f"decimal {sign} in {table.name}, unlike its other columns",
                "write all numbers of a table in one way",
            )
    return plan


def _unclear_dates(name: str, table: TableProfile, held: ColumnProfile) -> ColumnPlan:
    """Why these dates are left out: a table's dates are read in one format."""
    if not held.formats:
        why, cure = f"dates in {table.name} in several forms", "write all of them in one, such as 2024-02-29"
    elif table.date_format is None:
        shown = sorted(held.formats)
        why = f"dates in {table.name} that can be read in {'two ways' if len(shown) == 2 else 'several ways'}"
        meant = " or ".join(f'"{one}"' for one in shown)
        cure = f'in site.toml take it off ignore, and say dates = ["{name}"] and date_format = {meant}'
    else:
        why = f"dates in {table.name} in another form than its other dates"
        cure = f"write all dates of the table in one form, such as {_example_of(table.date_format)}"
    return ColumnPlan(name, None, why, cure)


def _example_of(date_format: str) -> str:
    return "2024-02-29" if date_format == ISO else datetime.datetime(2024, 2, 29).strftime(date_format)


def source_options(table: TableProfile, columns: Sequence[ColumnPlan], ignored: Sequence[str]) -> dict[str, Any]:
    """What the site file says of the columns of a table, label and ids aside."""
    dates = [column.name for column in columns if column.is_date]
    said: dict[str, Any] = {"ignore": list(ignored)} if ignored else {}
    if dates:
        said["dates"] = dates
        if table.date_format != ISO:
            said["date_format"] = table.date_format
    return said


def _label_of(tables: Sequence[TableProfile], everywhere: Sequence[str], label: str | None) -> str:
    if label is None:
        named = next((name for name in everywhere if name.lower() in LABEL_NAMES), None)
        if named or everywhere:
            return named or everywhere[-1]
    for table in tables:
        if label is None or label not in table.columns:
            names = list(table.columns)
            close = difflib.get_close_matches(label or "", names, n=1, cutoff=0.6)
            raise InputError(
                f"{table.name} has no column {label!r}" if label else f"{_names_of(tables)} share no column",
                expected=f"one of {', '.join(names[:8])}{', ...' if len(names) > 8 else ''}",
                got=f"--label {label}" if label else "other names in each table",
                cure=f"did you mean {close[0]!r}?" if close else "correct --label, or the table's header",
            )
    assert label is not None
    return label


def _classes_of(column: ColumnProfile, classes: Sequence[str] | None) -> tuple[str, ...]:
    """The labels as classes, sorted; none where they are numbers with fractions, or too many to be classes."""
    if classes:
        _check_are_classes(column, classes)
    if classes is not None:
        return tuple(classes)
    counts: Mapping[str, int] = column.counts or {}
    is_number = not column.texts and not column.dates
    if is_number and (not column.is_whole or not 0 < len(counts) <= MOST_CLASSES):
        return ()
    if 0 < len(counts) <= MOST_CLASSES:
        return tuple(sorted(counts, key=float) if is_number else sorted(counts))
    raise InputError(
        f"column {column.name!r} cannot be the label",
        expected=f"numbers, or at most {MOST_CLASSES} different texts",
        got=f"{len(counts) or 'too many'} different texts" if column.filled else "empty cells alone",
        cure="name the label's column with --label",
    )


def _check_are_classes(column: ColumnProfile, classes: Sequence[str]) -> None:
    """Raise InputError where a label is none of the classes that --classes names: no run would take it."""
    known = {shortest_whole(one) for one in classes}
    others = None if column.counts is None else [text for text in column.counts if text not in known]
    if others is None or others:
        raise InputError(
            f"column {column.name!r} holds other labels than --classes names",
            expected=f"in every row one of {first_few(list(classes), _MOST_SHOWN)}, or an empty cell",
            got="too many other labels"
            if others is None
            else f"{len(others):,} other: {first_few(others, _MOST_SHOWN)}",
            cure="correct --classes or --label; without --classes they are read from the table",
        )


def _check_labels_alike(labels: Mapping[str, ColumnProfile]) -> None:
    """Raise InputError where the labels, by the name of their table, are one class in two spellings, or numbers that
    are none: a model would learn to tell spellings apart."""
    grouped = next((table for table, column in labels.items() if column.thousands_signs), None)
    if grouped is not None:
        signs = labels[grouped].thousands_signs
        raise InputError(
            f"{grouped}: the labels have {signs} between thousands",
            expected="numbers without them",
            got=f"numbers with {signs} before every three digits",
            cure="write the labels without them",
        )
    texts = {text for column in labels.values() for text in column.counts or ()}
    spelt: dict[str, list[str]] = {}
    for text in sorted(texts):
        spelt.setdefault(text.casefold(), []).append(text)
    alike = next((several for several in spelt.values() if len(several) > 1), None)
    of_numbers = next((table for table, column in labels.items() if column.numbers and not column.texts), None)
    of_texts = next((table for table, column in labels.items() if column.texts and not column.numbers), None)
    if alike is None and (of_numbers is None or of_texts is None):
        return
    raise InputError(
        "the labels are not spelt alike",
        expected="each class written in one way in all tables",
        got=f"{' and '.join(alike)}" if alike else f"numbers in {of_numbers}, texts in {of_texts}",
        cure="correct the labels, or, where all of these are classes, name them with --classes",
    )


def plan_label(table: TableProfile, name: str, classes: Sequence[str] | None, *, is_guess: bool) -> LabelPlan:
    """The label in one table. Raises InputError as `plan_tables`."""
    _label_of([table], list(table.columns), name)
    if classes is None:
        _check_labels_alike({table.name: table.columns[name]})
    return LabelPlan(name, _classes_of(table.columns[name], classes), is_guess)


def check_columns_left(
    name: str, plans: Sequence[ColumnPlan], missing_at: Mapping[str, tuple[str, ...]] | None = None
) -> None:
    """Raise InputError where nothing is left to learn from in the tables called `name`."""
    if any(plan.kept for plan in plans):
        return
    raise InputError(
        f"{name}: no column is left to learn from",
        expected="columns of numbers, or of texts that repeat, which all tables have",
        got=_reasons(plans, missing_at or {}) or "the label alone",
        cure="name the label with --label, or add such columns to the table",
    )


def problems_of(tables: Sequence[TableProfile], labels: Mapping[str, str]) -> tuple[str, ...]:
    """What makes a run refuse rows as they are; `labels` names the label's column by the name of its table."""
    problems = []
    for table in tables:
        label = labels.get(table.name)
        empty = None if label is None else table.columns[label]
        if empty is not None and empty.empty:
            problems.append(
                f"{table.name}: {empty.empty:,} rows have no {label} (first in line {empty.first_empty}); remove them"
            )
        if table.ragged:
            problems.append(
                f"{table.name}: {table.ragged} lines have another number of cells than the header (first: line "
                f"{table.first_ragged}); correct them"
            )
    return tuple(problems)


def _reasons(plans: Sequence[ColumnPlan], missing_at: Mapping[str, tuple[str, ...]]) -> str:
    reasons = [f"{plan.name}: {plan.why}" for plan in plans]
    reasons += [f"{name}: not in {', '.join(at)}" for name, at in missing_at.items()]
    return "; ".join(reasons[:8]) + (f"; and {len(reasons) - 8} more" if len(reasons) > 8 else "")


def _names_of(tables: Sequence[TableProfile]) -> str:
    return " and ".join(table.name for table in tables[:3]) + (" and others" if len(tables) > 3 else "")
