"""`hekat init --from` of a job on rows: a job that fits the tables, and what was made of their columns."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from hekat.cli.init.read_tables import TableFile, find_tables, read_tables
from hekat.data.profile.table_profile import TableProfile
from hekat.data.sources.csv_dialect import CsvDialect
from hekat.errors import InputError, PolicyError
from hekat.job.new.new_job import NewJob
from hekat.job.new.split_rows import split_rows
from hekat.job.new.table_plan import TablePlan, plan_tables, source_options
from hekat.protocol.role_names import check_role_name

DEFAULT_PARTIES = ("alpha", "beta", "gamma")
AGGREGATOR = "hub"
HOLD_OUT = 0.2
_LEAST_WEIGHT_MAX = 100_000


@dataclass(frozen=True)
class NewFromTables:
    """The job, the plan behind it, and files to write beside the site file, by name.

    `listed` are columns whose categories stand in the job by this table alone, though other parties' may hold others.
    """

    job: NewJob
    plan: TablePlan
    files: dict[str, bytes]
    listed: tuple[str, ...] = ()


def new_from_tables(options: argparse.Namespace) -> NewFromTables:
    """The job that the tables suggest where the options leave it open. Raises InputError and PolicyError."""
    paths: list[Path] = options.tables
    parties = parties_of(options.parties, paths, options.aggregator or AGGREGATOR, split=options.split)
    check_two_parties(parties, is_allowed=options.allow_two_parties)
    classes = () if options.model == "linear" else options.classes
    tables = find_tables(options)
    if options.split and tables[0].kind != "csv":
        raise InputError(
            "--split deals out the rows of a CSV file",
            expected="a CSV file after --from",
            got=tables[0].kind,
            cure="leave out --split, or write the table as a CSV file first",
        )
    plan = plan_tables(read_tables(tables), options.label, classes)
    model = options.model or ("logistic" if plan.label.classes else "linear")
    files = split_rows(paths[0], plan.tables[0].dialect, parties) if options.split else {}
    sees_all, is_trees = options.split or len(paths) == len(parties), options.protocol == "horizontal_trees"
    job = NewJob(
        protocol=options.protocol,
        name=options.name or options.folder.resolve().name or "first-job",
        parties=parties,
        aggregator=options.aggregator or AGGREGATOR,
        model=model,
        protection=options.protection or "lattice",
        classes=plan.label.classes,
        label=plan.label.name,
        data_kind=tables[0].kind,
        kinds={party: table.kind for party, table in zip(parties, tables, strict=False)},
        sources=_sources(plan, parties, tables, options.folder, split=options.split),
        columns=plan.settings(sees_all=sees_all, may_find=not is_trees),
        hold_out=HOLD_OUT,
        allow_two_parties=options.allow_two_parties,
        weight_max=_bound_on_rows(max(table.rows for table in plan.tables)),
    )
    texts = tuple(column.name for column in plan.kept if column.kept == "texts")
    return NewFromTables(job, plan, files, texts if is_trees and not sees_all else ())


def check_two_parties(parties: tuple[str, ...], *, is_allowed: bool) -> None:
    """Raise PolicyError for two parties that have not said that they accept what each learns of the other."""
    if len(parties) == 2 and not is_allowed:
        raise PolicyError(
            "two parties learn each other's update from every sum",
            expected="at least 3 parties",
            got=", ".join(parties),
            cure="add a party, or say --allow-two-parties if both accept that",
        )


def parties_of(
    named: tuple[str, ...] | None, paths: Sequence[Path], aggregator: str, *, split: bool
) -> tuple[str, ...]:
    """The parties that the options name, else those that several files are called after, else three."""
    if split and len(paths) > 1:
        raise InputError(
            "--split deals the rows of one table out to all parties",
            expected="one table after --from",
            got=f"{len(paths)} tables",
            cure="leave out --split: each table is a party's then",
        )
    if named is not None and len(paths) > len(named):
        raise InputError(
            "there are more tables than parties",
            expected=f"at most {len(named)} tables after --from, one for each of {', '.join(named)}",
            got=f"{len(paths)} tables",
            cure="name a party for each table with --parties",
        )
    if named is not None:
        return named
    if len(paths) == 1:
        return DEFAULT_PARTIES
    stems = tuple(path.stem for path in paths)
    try:
        for stem in stems:
            check_role_name(stem)
    except PolicyError:
        stems = ()
    if len(set(stems)) < len(paths) or aggregator in stems:
        raise InputError(
            "the tables' names cannot be the parties' names",
            expected="a different name for each party",
            got=", ".join(path.name for path in paths[:5]),
            cure="name the parties with --parties, in the order of the tables",
        )
    return stems


def csv_options(dialect: CsvDialect) -> dict[str, Any]:
    """What the site file says of how a file is written, where it is not the usual."""
    usual = CsvDialect()
    names = ("separator", "decimal", "encoding")
    return {name: getattr(dialect, name) for name in names if getattr(dialect, name) != getattr(usual, name)}


def _sources(
    plan: TablePlan, parties: Sequence[str], tables: Sequence[TableFile], folder: Path, *, split: bool
) -> dict[str, dict[str, Any]]:
    def source(place: dict[str, Any], table: TableProfile, dialect: dict[str, Any]) -> dict[str, Any]:
        columns = source_options(table, plan.kept, plan.ignored_in(table))
        return {**place, "label": plan.label.name, **columns, **dialect}

    if split:
        said = csv_options(replace(plan.tables[0].dialect, encoding=CsvDialect().encoding))
        return {party: source({"path": f"data/{party}.csv"}, plan.tables[0], said) for party in parties}
    return {
        party: source(file.place(folder), table, csv_options(table.dialect))
        for party, file, table in zip(parties, tables, plan.tables, strict=False)
    }


def _bound_on_rows(rows: int) -> int:
    """A power of ten that tells little of the number of rows."""
    bound = _LEAST_WEIGHT_MAX
    while bound < rows:
        bound *= 10
    return bound
