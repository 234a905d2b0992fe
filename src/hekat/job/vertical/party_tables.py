"""The tables of a vertical job's guest and hosts: labels at the guest alone, ids where rows are to be matched."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from hekat.data import ColumnSpecs, Table, check_all_used, load_vertical_table
from hekat.job.data_source import DataSource
from hekat.job.site_file import Site, find_source
from hekat.job.vertical.job_file import VerticalJob


def load_party_tables(site: Site, job: VerticalJob, data_name: str) -> dict[str, Table]:
    """Each party's table that it calls `data_name`. Raises InputError or JobError that names the party."""
    settings = job.settings
    tables = {
        party: load_party_table(
            site,
            find_source(site, party, data_name),
            party,
            is_labelled=party == settings.guest,
            classes=settings.classes,
            columns=job.columns,
            sparse=job.sparse,
            needs_ids=job.intersection is not None,
        )
        for party in settings.parties
    }
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
    )
    if classes is None or table.labels is None:
        return table
    # The roles read labels as they are written: a class number could be taken for another class's name.
    return replace(table, labels=np.array(classes)[table.labels])
