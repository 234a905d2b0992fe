"""Loads the tables of parties with the same columns, and checks what all of them must have in common."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import replace

from hekat.data import Table, arrange_columns, check_has_labels, check_same_schema, has_one_class, load_table
from hekat.data.far_cells import with_notes_on_cells
from hekat.errors import InputError, JobError
from hekat.job.data_source import DataSource
from hekat.job.rows.rows_job import RowsJob, TabledJob
from hekat.job.site_file import Site, find_source
from hekat.run.load_keys import load_key_pair
from hekat.scheme.paillier import KeyPair
from hekat.toml_text import toml_key

TEST_NAME = "the test data"


def arrange_tables(tables: Mapping[str, Table], *, are_all: bool) -> dict[str, Table]:
    """The tables with their columns in the order of the first one. Raises InputError where columns differ, or where
    they are all of the job's tables and hold one class."""
    parties = list(tables)
    arranged = {party: _arrange(table, tables[parties[0]]) for party, table in tables.items()}
    check_same_schema({party: table.feature_names for party, table in arranged.items()})
    if not are_all:
        return arranged
    _check_classes_differ(arranged)
    return _with_notes_on_same_rows(arranged)


def _with_notes_on_same_rows(tables: dict[str, Table]) -> dict[str, Table]:
    """The tables, with a note at one that holds the rows of an earlier one, as where a path was copied."""
    noted, owners = {}, dict[bytes, str]()
    for party, table in tables.items():
        owner = party if table.rows_digest is None else owners.setdefault(table.rows_digest, party)
        note = f"all rows are also rows of {owner}: is the path in the site file the party's own?"
        is_noted = owner == party or note in table.notes
        noted[party] = table if is_noted else replace(table, notes=(*table.notes, note))
    return noted


def find_test_source(site: Site, job: RowsJob, *, is_needed: bool) -> DataSource | None:
    """The common test data; a machine of one role may have none."""
    if job.test_data is None or (not is_needed and job.test_data not in site.common_data):
        return None
    return find_source(site, None, job.test_data)


def check_test_table(table: Table, tables: Mapping[str, Table]) -> Table:
    """The common test data in the columns of the tables here."""
    party, first = next(iter(tables.items()))
    test_table = _arrange(table, first)
    check_same_schema({party: first.feature_names, TEST_NAME: test_table.feature_names})
    check_has_labels(test_table)
    return test_table


def load_rows(site: Site, source: DataSource, job: TabledJob, name: str, *, for_training: bool = True) -> Table:
    """The table of a source, under the job's description of columns. Raises InputError or JobError."""
    table = load_table(
        source.kind,
        source.options,
        site.folder,
        name=name,
        classes=job.settings.classes,
        columns=job.columns,
        sparse=job.sparse,
        for_training=for_training,
        # Release records recognise jobs on the same rows by it.
        digest_rows=for_training and job.settings.protection == "lattice",
    )
    return with_notes_on_cells(table, job.columns) if for_training else table


def _arrange(table: Table, first: Table) -> Table:
    """`table` in the order of the leader's columns, where it has the same ones in another."""
    arranged = arrange_columns(table, first.feature_names)
    if arranged is table:
        return table
    return replace(arranged, notes=(*table.notes, f"columns taken in the order they have at {first.name}"))


def _check_classes_differ(tables: Mapping[str, Table]) -> None:
    """Raise InputError where all rows of all parties have one class, from which no model can learn."""
    found = {int(table.labels[0]) for table in tables.values() if table.labels is not None and has_one_class(table)}
    if len(found) == 1 and all(has_one_class(table) for table in tables.values()):
        raise InputError(
            "all parties together have rows of one class only",
            expected="rows of at least 2 classes",
            got="1 class",
            cure="check the label columns and the job's classes",
        )


def load_leader_key(
    site: Site, job: RowsJob, here: Collection[str], ask_passphrase: Callable[[], bytes] | None
) -> KeyPair | None:
    """The leader's Paillier key, where it is among the roles `here` and its site keeps one. Raises JobError."""
    settings = job.settings
    for party in (party for party in settings.parties if party in here):
        path = site.parties[party].paillier_key
        if path is not None and party != settings.leader:
            raise JobError(
                f"party {party} has a paillier_key but does not lead",
                expected=f"a key at the leader, {settings.leader}",
                got=f"paillier_key under [{toml_key('party', party)}]",
                cure="remove it: the leader gives the key to the others",
            )
    path = site.parties[settings.leader].paillier_key if settings.leader in here else None
    if path is None or settings.protection != "paillier":
        return None
    return load_key_pair(path, "the leader", settings.key_bits, ask_passphrase)
