"""The tables of a job's guest and hosts: labels at the guest alone, ids where rows are to be matched."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from functools import partial

import numpy as np

from hekat.data import (
    ColumnSpecs,
    Table,
    arrange_columns,
    check_all_used,
    describe_schema_difference,
    load_vertical_table,
)
from hekat.data.columns.findings import load_together
from hekat.errors import InputError
from hekat.job.data_source import DataSource
from hekat.job.site_file import Site, find_source
from hekat.job.vertical.columns_job import ColumnsJob

MIN_ROWS = 2


def load_party_tables(
    site: Site,
    job: ColumnsJob,
    data_name: str,
    here: Collection[str],
    columns: Mapping[str, ColumnSpecs] | None = None,
) -> dict[str, Table]:
    """The table that each party `here` calls `data_name`, as the job describes its columns.

    `columns` describe them by party where the rows are not trained on.

    Raises InputError or JobError that names the party.
    """
    settings = job.settings
    loads = {
        party: partial(
            load_party_table,
            site,
            find_source(site, party, data_name),
            party,
            is_labelled=party == settings.guest,
            classes=settings.classes,
            columns=job.columns if columns is None else columns[party],
            sparse=job.sparse,
            needs_ids=job.intersection is not None,
            for_training=columns is None,
        )
        for party in settings.parties
        if party in here
    }
    # All that the job has to say of columns is told at once.
    tables = load_together(loads)
    if len(tables) == len(settings.parties):
        check_all_used(tuple(tables.values()), job.columns)
    return tables


def load_party_table(
    site: Site,
    source: DataSource,
    party: str,
    *,
    is_labelled: bool | None,
    classes: tuple[str, ...] | None,
    columns: ColumnSpecs,
    sparse: bool,
    needs_ids: bool,
    for_training: bool,
) -> Table:
    """One party's table; labels, which with `is_labelled` None may be there or not, are names of classes or numbers."""
    table = load_vertical_table(
        source.kind,
        source.options,
        site.folder,
        name=party,
        is_labelled=is_labelled,
        classes=classes,
        columns=columns,
        sparse=sparse,
        needs_ids=needs_ids,
        for_training=for_training,
    )
    if classes is None or table.labels is None:
        return table
    # The roles read labels as written, because a class number could be mistaken for another class's name.
    return replace(table, labels=np.array(classes)[table.labels])


def check_same_rows(tables: Mapping[str, Table], what: str) -> None:
    """Raise InputError for tables that cannot be of the same rows in the same order."""
    counts = {party: len(table) for party, table in tables.items()}
    if len(set(counts.values())) > 1:
        raise InputError(
            f"{what} cannot be in the same order at all parties",
            expected="as many rows at each, row by row of the same people, for intersection.kind = 'aligned'",
            got=", ".join(f"{party}: {count}" for party, count in counts.items()),
            cure="give rows ids and set intersection.kind = 'ecdh' in the job",
        )


def in_columns_of(columns: tuple[str, ...], table: Table, what: str) -> Table:
    """`table` with its columns in the order of training. Raises InputError where they are not the same columns."""
    arranged = arrange_columns(table, columns)
    difference = describe_schema_difference(columns, arranged.feature_names)
    if difference:
        raise InputError(
            f"{what} of {table.name} has other columns than the training table",
            expected=f"{len(columns)} columns, found by their names",
            got=difference,
            cure="give the table the columns of training, or ignore columns in the site file",
        )
    return arranged


def check_rows(tables: Mapping[str, Table], what: str, *, needs_ids: bool, least: int) -> None:
    """Raise InputError for too few rows, or rows that cannot be in the same order."""
    for table in tables.values():
        if len(table) < least:
            raise InputError(
                f"{table.name} has too few rows",
                expected=f"at least {least}: an intersection with fewer ids would ask about one person"
                if needs_ids
                else f"at least {least}",
                got=str(len(table)),
                cure="check where the data is read",
            )
    if not needs_ids:
        check_same_rows(tables, what)


def check_enough(common: Table, least: int = MIN_ROWS) -> None:
    """Raise InputError where too few rows are common to train on."""
    if len(common) < least:
        raise InputError(
            "too few rows are common to all parties",
            expected=f"at least {least}",
            got=str(len(common)),
            cure="check that all parties write ids alike, and that they have people in common",
        )
