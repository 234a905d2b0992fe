"""The privacy budget that a site grants a party's rows: found in the party's state folder, over all jobs."""

from __future__ import annotations

from collections.abc import Collection

from hekat.data import Table
from hekat.job.granted_budgets import granted_budget
from hekat.job.horizontal.job_file import Job
from hekat.job.horizontal_trees.job_file import RowTreesJob
from hekat.job.policy.budget_promises import WHOSE, promise_of
from hekat.job.site_file import Site
from hekat.protocol.noise_claim import check_delta
from hekat.state.privacy_budget import PrivacyBudget


def open_budget(job: Job | RowTreesJob, site: Site, party: str) -> PrivacyBudget:
    """The budget of a party's rows, for a job with noise.

    Raises JobError where the site grants none, or keeps no state; PolicyError where it grants one of another kind, or
    asks for more colluders.
    """
    budget = granted_budget(site, party)
    budget.check_promise(party, promise_of(job), WHOSE)
    return budget


def check_delta_of_job(delta: float, tables: Collection[Table]) -> None:
    """Raise InputError for a job's delta that lets one of the rows of these tables, of all parties here, show whole."""
    if count := sum(map(len, tables)):  # none at a role without rows
        check_delta(delta, count, f"the {count:,} rows here")


def check_delta_of_budget(party: str, budget: PrivacyBudget, row_count: int, party_count: int) -> None:
    """Raise PolicyError for a delta of the site that lets one of the party's rows, or of the parties, show whole."""
    if budget.terms.unit == "row":
        budget.check_delta(party, row_count, f"its {row_count:,} rows")
    else:
        budget.check_delta(party, party_count, f"the {party_count} parties")
