"""The privacy budget that a site grants a party's rows: found in the party's state folder, over all jobs."""

from __future__ import annotations

from hekat.errors import PolicyError
from hekat.job.granted_budgets import granted_budget
from hekat.job.site_file import Site
from hekat.protocol.noise_claim import NoiseClaim, colluders_of
from hekat.state.privacy_budget import PrivacyBudget


def open_budget_for(site: Site, party: str, claim: NoiseClaim, *, unit: str, least_parties: int) -> PrivacyBudget:
    """The budget of a party's rows, for a job with this `claim`, whose sums have `least_parties` or more.

    Raises JobError where the site grants none, or keeps no state; PolicyError where it grants one of another kind, or
    asks for more colluders.
    """
    budget = granted_budget(site, party)
    budget.check_promise(
        party, unit, claim.neighbours, colluders_of(claim, least_parties), least_parties, "the job's privacy."
    )
    return budget


def check_deltas(party: str, delta: float, budget: PrivacyBudget, unit_count: int) -> None:
    """Raise PolicyError where the job's delta, or the delta that the site reckons what is spent at, is too large for
    so many rows, or parties."""
    unit = "rows" if budget.terms.unit == "row" else "parties"
    if delta >= 1 / unit_count:
        raise PolicyError(
            f"privacy.delta is too large for the {unit} of {party}",
            expected=f"far less than 1 over {unit_count} {unit}, {1 / unit_count:.3g}: by that chance one may show "
            "whole",
            got=f"{delta:g}",
            cure="lower privacy.delta in the job",
        )
    budget.check_delta(party, unit_count, f"its {unit_count:,} {unit}")
