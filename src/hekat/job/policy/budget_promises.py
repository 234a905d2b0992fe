"""The lines of a party's privacy budget that a job's noise has to keep to: unit, neighbours and colluders."""

from __future__ import annotations

from collections.abc import Collection
from functools import partial

from hekat.job.granted_budgets import granted_budget
from hekat.job.horizontal.job_file import Job
from hekat.job.horizontal_trees.job_file import RowTreesJob
from hekat.job.load_any_job import AnyJob
from hekat.job.policy.policy_check import PolicyCheck
from hekat.job.site_file import Site
from hekat.protocol.horizontal.privacy_settings import PrivacySettings
from hekat.protocol.noise_claim import colluders_of
from hekat.protocol.secure_sum.masked.opening.opening_schemes import least_parties
from hekat.state.privacy_budget import BudgetTerms, Promise, least_colluders
from hekat.toml_text import toml_key

WHOSE = "the job's privacy."
"""Begins the name of a setting in errors."""


def promise_of(job: Job | RowTreesJob) -> Promise:
    """What a job with noise promises of each party's rows."""
    privacy, sums = job.settings.privacy, job.settings.sums
    assert privacy is not None  # the caller's
    least = least_parties(sums, job.settings.sample_size if isinstance(job, Job) else None)
    unit = privacy.unit if isinstance(privacy, PrivacySettings) else "row"
    return Promise(unit, privacy.neighbours, colluders_of(privacy, least), least)


def on_promises(site: Site, job: AnyJob, here: Collection[str]) -> list[PolicyCheck]:
    """The lines of each party of the job among the roles `here`; none for jobs without noise."""
    if not isinstance(job, (Job, RowTreesJob)) or job.settings.privacy is None:
        return []
    promise = promise_of(job)
    parties = [party for party in job.settings.parties if party in here and party in site.parties]
    return [check for party in parties for check in _of_party(site, party, promise)]


def _of_party(site: Site, party: str, promise: Promise) -> list[PolicyCheck]:
    table, terms = f"[{toml_key('party', party, 'privacy')}]", site.parties[party].privacy

    def check() -> None:
        granted_budget(site, party)

    granted = "none" if terms is None else f"epsilon {terms.limit:g} at delta {terms.delta:g}"
    found = PolicyCheck(table, "noise, charged to a budget", granted, check)
    return [found, *(() if terms is None else _of_terms(table, party, terms, promise))]


def _of_terms(table: str, party: str, terms: BudgetTerms, promise: Promise) -> list[PolicyCheck]:
    least = least_colluders(terms.colluders, promise.least_parties)
    return [
        PolicyCheck(f"{table} unit", promise.unit, terms.unit, partial(terms.check_unit, party, promise, WHOSE)),
        PolicyCheck(
            f"{table} neighbours",
            promise.neighbours,
            terms.neighbours,
            partial(terms.check_neighbours, party, promise, WHOSE),
        ),
        PolicyCheck(
            f"{table} colluders",
            f"{promise.colluders} of the fewest {promise.least_parties} in a sum",
            f"at least {least}",
            partial(terms.check_colluders, party, promise, WHOSE),
        ),
    ]
