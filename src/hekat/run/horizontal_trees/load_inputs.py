"""Loads and checks everything that trees across rows need before they grow: tables, labels, keys."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np

from hekat.data import Table
from hekat.data.columns.findings import load_together
from hekat.engine.select import get_engine
from hekat.engine.tenancy import declare_tenancy
from hekat.errors import InputError
from hekat.job.horizontal_trees.job_file import RowTreesJob, load_row_trees_job
from hekat.job.load_any_job import check_role
from hekat.job.policy.checks_of_job import enforce_policy
from hekat.job.site_file import find_source, load_site
from hekat.model.trees import check_row_count as check_can_divide
from hekat.protocol.horizontal_trees.party import check_row_count
from hekat.protocol.horizontal_trees.settings import HorizontalTreesSettings
from hekat.protocol.horizontal_trees.sums_ahead import plan_sums
from hekat.protocol.horizontal_trees.training import check_rows, split_rows
from hekat.protocol.secure_sum.sum_plan import SumPlan
from hekat.run.load_keys import load_party_keys
from hekat.run.rows.inputs import RowsInputs
from hekat.run.rows.tables import (
    TEST_NAME,
    arrange_tables,
    check_test_table,
    find_test_source,
    load_leader_key,
    load_rows,
)
from hekat.scheme.paillier.randomiser import check_table_memory


@dataclass(frozen=True, kw_only=True)
class RowTreesInputs(RowsInputs):
    """A checked job of trees across rows with this machine's tables."""

    job: RowTreesJob

    def plan_sums(self, done: int) -> SumPlan:
        return plan_sums(self.job.settings, done)

    def split(self, table: Table) -> tuple[Table, Table | None]:
        return split_rows(table, self.job.settings)


def load_row_trees_inputs(
    job_path: Path,
    site_path: Path | None = None,
    ask_passphrase: Callable[[], bytes] | None = None,
    *,
    role: str | None = None,
    is_rehearsal: bool = False,
) -> RowTreesInputs:
    """Load the job, the site file beside it (or at `site_path`), and every table; nothing is sent, and nothing written
    but what the site refuses, into its ledger; a rehearsal does not write that either.

    `ask_passphrase` is called where a passphrase protects the leader's key file. With `role` only that role's files are
    loaded; the protocol then checks what different parties' tables must have in common. Raises a HekatError that names
    the file, key, party or column, what was expected and the cure.
    """
    job = load_row_trees_job(job_path)
    if role is not None:
        check_role(job, role)
    site = load_site(site_path or job_path.parent / "site.toml")
    settings = job.settings
    here = settings.everyone if role is None else (role,)
    parties = [party for party in settings.parties if party in here]
    enforce_policy(site, job, here, is_rehearsal=is_rehearsal)
    loads = {party: partial(load_rows, site, find_source(site, party, job.data), job, party) for party in parties}
    test_source = find_test_source(site, job, is_needed=role is None) if parties else None
    if test_source is not None:
        loads[TEST_NAME] = partial(load_rows, site, test_source, job, TEST_NAME, for_training=False)
    # All that the job has to say of columns is told at once.
    loaded = load_together(loads)
    tables = arrange_tables({party: loaded[party] for party in parties}, are_all=len(here) == len(settings.everyone))
    for party, table in tables.items():
        check_row_count(party, len(table), settings)
        check_rows(table, settings)
    if len(here) == len(settings.everyone):
        _check_some_value(tables)
        parts = [split_rows(table, settings)[0] for table in tables.values()]
        _check_every_class(parts, settings)
        check_can_divide(sum(map(len, parts)), settings.training)
    test_table = check_test_table(loaded[TEST_NAME], tables) if TEST_NAME in loaded else None
    with declare_tenancy(site.machine.single_tenant):
        engine = get_engine()
        if settings.protection == "paillier":
            check_table_memory(settings.key_bits, engine)
    return RowTreesInputs(
        job=job,
        site=site,
        tables=tables,
        test_table=test_table,
        key_pair=load_leader_key(site, job, here, ask_passphrase),
        party_keys=load_party_keys(site, here, {name: key for name, key in job.party_keys.items() if name in here}),
        roles=here,
    )


def _check_some_value(tables: dict[str, Table]) -> None:
    """Raise InputError where a column has no value in any row of all parties."""
    found = np.any([~np.isnan(table.features).all(axis=0) for table in tables.values()], axis=0)
    if not found.all():
        first = next(iter(tables.values()))
        name = first.feature_names[int(np.argmin(found))]
        raise InputError(
            f"column {name!r} has no value in any row of any party",
            expected="a value in some row",
            got="empty cells alone",
            cure=f"leave the column out: ignore = true under [columns.{name}] in the job",
        )


def _check_every_class(parts: Sequence[Table], settings: HorizontalTreesSettings) -> None:
    """Raise InputError where no party trains on a row of some class: training would end with its first sum."""
    found = {int(label) for part in parts if part.labels is not None for label in np.unique(part.labels)}
    for number, name in enumerate(settings.classes or ()):
        if number not in found:
            raise InputError(
                f"no party has a row of class {name!r} to train on",
                expected="a row of each class",
                got="none",
                cure="leave that class out of the job's classes, correct how labels are spelt, or hold out fewer rows",
            )
