"""Loads and checks everything that trees across rows need before they grow: tables, labels, keys."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from hekat.data import Table
from hekat.errors import InputError
from hekat.job.horizontal_trees.job_file import RowTreesJob, load_row_trees_job
from hekat.model.trees import check_row_count as check_can_divide
from hekat.protocol.horizontal_trees.party import check_row_count
from hekat.protocol.horizontal_trees.settings import HorizontalTreesSettings
from hekat.protocol.horizontal_trees.sums_ahead import plan_sums
from hekat.protocol.horizontal_trees.training import check_rows, split_rows
from hekat.protocol.secure_sum.sum_plan import SumPlan
from hekat.run.rows.inputs import RowsInputs
from hekat.run.rows.load_site_tables import load_keys, load_site_tables
from hekat.run.rows.privacy_budget import check_delta_of_budget, check_delta_of_job, open_budget
from hekat.run.rows.tables import arrange_tables, check_test_table
from hekat.state.privacy_budget import PrivacyBudget


@dataclass(frozen=True, kw_only=True)
class RowTreesInputs(RowsInputs):
    """A checked job of trees across rows with this machine's tables."""

    job: RowTreesJob

    def plan_sums(self, done: int) -> SumPlan:
        return plan_sums(self.job.settings, done)

    def budget_of(self, role: str) -> PrivacyBudget | None:
        """The privacy budget of a party's rows; None without privacy, and for a role without rows. Raises as
        `open_budget`."""
        is_charged = self.job.settings.privacy is not None and role in self.tables
        return open_budget(self.job, self.site, role) if is_charged else None

    @property
    def budgets(self) -> dict[str, PrivacyBudget]:
        """The privacy budgets of the parties here; empty without privacy."""
        return {party: budget for party in self.tables if (budget := self.budget_of(party)) is not None}

    def check_budgets(self, rounds_done: int) -> None:
        settings = self.job.settings
        for party, budget in self.budgets.items():
            check_delta_of_budget(party, budget, len(self.tables[party]), len(settings.parties))
            budget.check_ahead([settings.leaf_noise.claimed] * (settings.training.max_iter - rounds_done))

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
    found = load_site_tables(job, job_path, site_path, role, is_rehearsal=is_rehearsal)
    settings = job.settings
    are_all = len(found.roles) == len(settings.everyone)
    tables = arrange_tables(found.tables, are_all=are_all)
    for party, table in tables.items():
        check_row_count(party, len(table), settings)
        check_rows(table, settings)
    if settings.privacy is not None:
        check_private_tables(tables, settings)
    if are_all:
        _check_some_value(tables)
        parts = [split_rows(table, settings)[0] for table in tables.values()]
        _check_every_class(parts, settings)
        check_can_divide(sum(map(len, parts)), settings.training)
    test_table = None if found.test_table is None else check_test_table(found.test_table, tables)
    key_pair, party_keys = load_keys(job, found.site, found.roles, ask_passphrase)
    return RowTreesInputs(
        job=job,
        site=found.site,
        tables=tables,
        test_table=test_table,
        key_pair=key_pair,
        party_keys=party_keys,
        roles=found.roles,
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


def check_private_tables(tables: Mapping[str, Table], settings: HorizontalTreesSettings) -> None:
    """Raise InputError for columns without public bounds, for a delta that rows are too few for, and where the
    accountant is not installed."""
    privacy = settings.privacy
    assert privacy is not None  # the caller's
    for table in tables.values():
        privacy.public_bins(table.feature_names, table.indicators, settings.training.max_bins)
    check_delta_of_job(privacy.delta, tables.values())
    settings.leaf_noise.epsilon(settings.training.max_iter, privacy)
