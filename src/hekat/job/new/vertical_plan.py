"""What tables with other columns of the same people suggest: guest, label, ids, and what becomes of each column."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from hekat.data.profile.column_profile import merge_columns
from hekat.data.profile.table_profile import TableProfile
from hekat.errors import InputError
from hekat.job.new.column_plan import RARE_ROWS, ColumnPlan, column_settings, looks_like_ids
from hekat.job.new.table_plan import LABEL_NAMES, LabelPlan, check_columns_left, plan_in_tables, plan_label, problems_of

_NONE_LEFT = 1e-4


@dataclass(frozen=True)
class PartyPlan:
    """One party's table: its columns of ids, and what becomes of the others, the guest's label aside."""

    table: TableProfile
    ids: tuple[str, ...]
    columns: tuple[ColumnPlan, ...] = ()

    @property
    def ignored(self) -> tuple[str, ...]:
        """The columns that are left out, in the table's order."""
        return tuple(column.name for column in self.columns if column.kept is None)


@dataclass(frozen=True)
class VerticalPlan:
    """The parties' tables, the guest's first; `label` is None where nothing is trained. `common` is how many ids all
    tables share, None where that was not counted."""

    parties: tuple[PartyPlan, ...]
    label: LabelPlan | None = None
    common: int | None = None
    problems: tuple[str, ...] = ()

    def settings(self) -> dict[str, dict[str, Any]]:
        """What the job says of columns, whoever holds them."""
        kept = [column for party in self.parties for column in party.columns if column.kept]
        return {column.name: said for column in kept if (said := column_settings(column, sees_all=True))}


def find_guest(tables: Sequence[TableProfile], label: str | None) -> int:
    """The place of the one table that holds the label: the named one, or one with a usual name. Raises InputError."""
    names = [label] if label is not None else LABEL_NAMES
    holders = [
        number
        for number, table in enumerate(tables)
        if any((one if label else one.lower()) in names for one in table.columns)
    ]
    if len(holders) == 1:
        return holders[0]
    raise InputError(
        f"{f'{len(holders)} of the tables have' if holders else 'no table has'} the label",
        expected="one table with a column of that name: its holder is the guest",
        got=f"{label or 'a usual name of a label'} in {_names(tables, holders)}",
        cure="name the label's column with --label" if label is None else "correct --label, or rename the other column",
    )


def _names(tables: Sequence[TableProfile], places: Sequence[int]) -> str:
    return ", ".join(tables[number].name for number in places) or "no table"


def plan_vertical(
    tables: Sequence[TableProfile],
    *,
    label: str | None = None,
    classes: Sequence[str] | None = None,
    ids: Sequence[str] | None = None,
    trains: bool = True,
) -> VerticalPlan:
    """Plan a job on tables with other columns of the same people, the guest's table first.

    `label`, `classes` and `ids` say what is known; without `trains` ids alone matter. Raises InputError where a table
    has no column that names its rows, and for labels that are neither classes nor numbers.
    """
    chosen = _common_ids(tables) if ids is None else [tuple(ids)] * len(tables)
    for table, names in zip(tables, chosen, strict=True):
        _check_ids(table, names)
    common = _count_common(tables, chosen)
    if not trains:
        parties = tuple(PartyPlan(table, names) for table, names in zip(tables, chosen, strict=True))
        return VerticalPlan(parties, common=common)
    guest = tables[0]
    rest = [name for name in guest.columns if name not in chosen[0]]
    usual = next((name for name in rest if name.lower() in LABEL_NAMES), "")
    found = plan_label(guest, label or usual, classes, is_guess=label is None)
    planned = []
    for table, names in zip(tables, chosen, strict=True):
        apart = (*names, found.name) if table is guest else names
        planned.append(PartyPlan(table, names, _plan_columns(table, tables, apart, common)))
        # A guest may bring labels alone.
        if table is not guest or planned[-1].columns:
            check_columns_left(table.name, planned[-1].columns)
    return VerticalPlan(tuple(planned), found, common, problems_of(tables, {guest.name: found.name}))


def _plan_columns(
    table: TableProfile, tables: Sequence[TableProfile], apart: Sequence[str], common: int | None
) -> tuple[ColumnPlan, ...]:
    """A job describes a column once, so that one that several tables have is judged by all of them."""
    least = _least_rows(table, common)
    plans = []
    for name in table.columns:
        if name not in apart:
            holders = [other for other in tables if name in other.columns]
            plans.append(plan_in_tables(merge_columns([other.columns[name] for other in holders]), holders, least))
    return tuple(plans)


def _least_rows(table: TableProfile, common: int | None) -> int:
    """Rows of a category that leave it a common row but for one case in 10,000: a column of one value is refused."""
    outside = 0.5 if common is None else 1 - common / table.rows
    return max(RARE_ROWS, math.ceil(math.log(_NONE_LEFT) / math.log(outside))) if outside > 0 else RARE_ROWS


def _common_ids(tables: Sequence[TableProfile]) -> list[tuple[str, ...]]:
    """For each table the column whose cells differ in every row and whose name says so, or which all tables have."""
    unique = [[name for name, column in table.columns.items() if _could_be_id(table, name)] for table in tables]
    shared = [name for name in unique[0] if len(tables) > 1 and all(name in names for names in unique)]
    if len(shared) > 1:
        shared = [name for name in shared if looks_like_ids(tables[0].columns[name])][:1] or shared[:1]
    if shared:
        return [(shared[0],)] * len(tables)
    chosen: list[tuple[str, ...]] = []
    for table, names in zip(tables, unique, strict=True):
        named = [name for name in names if looks_like_ids(table.columns[name])]
        if len(named) != 1:
            raise InputError(
                f"which column of {table.name} names a person is not clear",
                expected="one column with an id of its own in every row, such as client_id, called so in every table",
                got=", ".join(named or names) or "no column that differs in every row",
                cure="name it with --id, in all tables alike; several columns together: --id NAME,NAME",
            )
        chosen.append((named[0],))
    return chosen


def _could_be_id(table: TableProfile, name: str) -> bool:
    column = table.columns[name]
    return column.is_unique and not column.empty and not column.dates


def _check_ids(table: TableProfile, names: Sequence[str]) -> None:
    for name in names:
        column = table.columns.get(name)
        if column is None:
            raise InputError(
                f"{table.name} has no column {name!r}",
                expected=f"one of {', '.join(list(table.columns)[:8])}",
                got=f"--id {','.join(names)}",
                cure="correct --id, or call the column so in every table",
            )
        repeats = len(names) == 1 and not column.is_unique
        if column.empty or repeats:
            raise InputError(
                f"{table.name}: column {name!r} does not name every row",
                expected="an id of its own in each row",
                got=f"{column.empty} empty cells" if column.empty else "ids that stand in several rows",
                cure="keep one row for each id, name several columns with --id NAME,NAME, or correct the table",
            )


def _count_common(tables: Sequence[TableProfile], ids: Sequence[tuple[str, ...]]) -> int | None:
    if len(tables) < 2 or any(len(names) > 1 for names in ids):
        return None
    found = [table.columns[names[0]].distinct_cells for table, names in zip(tables, ids, strict=True)]
    common = found[0].intersection(*found[1:])
    if not common:
        raise InputError(
            "the tables have no row in common",
            expected="ids that are written alike in all tables",
            got=f"columns {', '.join(dict.fromkeys(names[0] for names in ids))} without a common cell",
            cure="name the column of ids with --id, or write ids alike: 7 is not 007",
        )
    return len(common)
