"""Loads the tables of a job on columns that lie here, with the fills that follow from them, and checks them."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from hekat.data import ColumnSpecs, Table
from hekat.data.columns.settle import settle_fills
from hekat.data.far_cells import with_notes_on_cells
from hekat.job.load_any_job import AnyJob, check_role, roles_of
from hekat.job.policy.checks_of_job import enforce_policy
from hekat.job.policy.enforce import AskingJob, recorded
from hekat.job.policy.exact_sums import with_note_on_budget
from hekat.job.site_file import Site, load_site
from hekat.job.vertical.columns_job import ColumnsJob
from hekat.job.vertical.site_checks import MAX_PREDICTIONS_KEY, check_test_rows_allowed
from hekat.protocol.vertical.common_tables import find_common_tables
from hekat.protocol.vertical.hold_out import count_held_out, hold_out_rows
from hekat.run.horizontal.load_inputs import MAX_MAGNITUDE, check_magnitudes
from hekat.run.vertical.party_tables import MIN_ROWS, check_enough, check_rows, in_columns_of, load_party_tables


@dataclass(frozen=True)
class LoadedTables:
    """The tables of the parties that lie here, before any rows are matched; `test_tables` is empty where the job has no
    test data. `columns` is by party the job's description of columns, with the fills that its own rows give."""

    tables: dict[str, Table]
    test_tables: dict[str, Table]
    columns: dict[str, ColumnSpecs]


J = TypeVar("J", bound=AnyJob)


def open_columns_job(
    load: Callable[[Path], J], job_path: Path, site_path: Path | None, role: str | None, *, is_rehearsal: bool
) -> tuple[J, Site, tuple[str, ...]]:
    """(the job that `load` reads, its site, the roles that this machine plays: `role`, or all where it is None).

    `site_path` None: site.toml beside the job. Raises JobError, and PolicyError where the site does not allow the job,
    which is recorded unless it is a rehearsal.
    """
    job = load(job_path)
    if role is not None:
        check_role(job, role)
    site = load_site(site_path or job_path.parent / "site.toml")
    here = roles_of(job) if role is None else (role,)
    enforce_policy(site, job, here, is_rehearsal=is_rehearsal)
    return job, site, here


def load_tables(
    site: Site, job: ColumnsJob, here: Collection[str], check_table: Callable[[Table], None]
) -> LoadedTables:
    """Load what each party `here` calls the job's data and test data.

    `check_table` refuses a training table that the protocol cannot use. Raises InputError or JobError that names the
    party.
    """
    needs_ids = job.intersection is not None
    loaded = load_party_tables(site, job, job.data, here)
    settled = {party: settle_fills(table, job.columns) for party, table in loaded.items()}
    tables = {party: table for party, (table, _) in settled.items()}
    columns = {party: specs for party, (_, specs) in settled.items()}
    check_rows(tables, "the data", needs_ids=needs_ids, least=MIN_ROWS)
    for table in tables.values():
        # A rule that refuses all rows would refuse any part of them.
        check_magnitudes(table, MAX_MAGNITUDE)
        check_table(table)
    tables = {
        party: with_note_on_budget(site, job, party, with_notes_on_cells(table)) for party, table in tables.items()
    }
    test_tables: dict[str, Table] = {}
    if job.test_data is not None:
        test_tables = load_party_tables(site, job, job.test_data, here, columns)
        check_rows(test_tables, "the test data", needs_ids=needs_ids, least=MIN_ROWS if needs_ids else 1)
        for party, table in test_tables.items():
            test_tables[party] = in_columns_of(tables[party].feature_names, table, "the test data")
    return LoadedTables(tables, test_tables, columns)


def check_predictions_allowed(
    site: Site, job: ColumnsJob, asking: AskingJob, loaded: LoadedTables, calibrated: int = 0, openings: int = 1
) -> None:
    """Raise PolicyError where the rows to measure on, and of at most `calibrated` training rows the scores, pass what
    the site lets be predicted; the refusal is recorded."""
    predicted = min((len(table) for table in loaded.test_tables.values()), default=0)
    if not loaded.tables:
        return
    most = min(len(table) for table in loaded.tables.values())
    predicted += count_held_out(most, job.hold_out)
    with recorded(site, asking, MAX_PREDICTIONS_KEY):
        check_test_rows_allowed(site.policy, predicted, min(calibrated, most), openings)


def find_training_rows(job: ColumnsJob, tables: dict[str, Table], seed: int) -> dict[str, Table]:
    """The rows that training will have, where all tables lie here. Raises InputError for too few."""
    common = tables if job.intersection is None else find_common_tables(tables)
    if job.hold_out:
        common = {party: hold_out_rows(table, job.hold_out, seed)[0] for party, table in common.items()}
    check_enough(common[job.settings.guest])
    return common
