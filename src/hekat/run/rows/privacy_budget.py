"""The privacy budget that a site grants a party's rows: found in the party's state folder, over all jobs."""

from __future__ import annotations

from hekat.job.granted_budgets import granted_budget
from hekat.job.site_file import Site
from hekat.privacy.accounting import Neighbours
from hekat.state.privacy_budget import PrivacyBudget


def open_budget_for(site: Site, party: str, *, unit: str, neighbours: Neighbours) -> PrivacyBudget:
    """The budget of a party's rows, for a job with these `unit` and `neighbours`.

    Raises JobError where the site grants none, or keeps no state; PolicyError where it grants one of another kind.
    """
    budget = granted_budget(site, party)
    budget.check_promise(party, unit, neighbours, "the job's privacy.")
    return budget
