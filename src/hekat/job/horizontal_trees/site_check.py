"""Whether a site lets a job of boosted trees across rows do what it asks for, line by line of its policy."""

from __future__ import annotations

from collections.abc import Collection

from hekat.job.horizontal.committee_policy import checks_of_committee
from hekat.job.horizontal_trees.job_file import PROTOCOL, RowTreesJob
from hekat.job.policy.job_limits import check_validation_bins
from hekat.job.policy.policy_check import APPLIES_NOT, PolicyCheck, refusals_of, refuse_first
from hekat.job.policy.shared_checks import on_job, on_model, on_rounds
from hekat.job.rows.site_checks import on_holdings, on_protection, on_row_tables
from hekat.job.site_file import Site
from hekat.job.trees.sections import MODEL
from hekat.protocol.horizontal_trees.measures import SCORE_BINS

_CURE_OF_BINS = "leave out validation.hold_out and training.early_stopping, so that no row is held out"


def check_site_allows_row_trees(site: Site, job: RowTreesJob, here: Collection[str] | None = None) -> None:
    """Raise PolicyError or JobError where the job asks this site for what it does not have or does not allow.

    `here` are the roles that this machine plays, None for all.
    """
    refuse_first(refusals_of(row_trees_checks(site, job, here)))


def row_trees_checks(site: Site, job: RowTreesJob, here: Collection[str] | None = None) -> list[PolicyCheck]:
    """Every line that the job is held against; `here` as in `check_site_allows_row_trees`."""
    settings, policy = job.settings, site.policy
    bins = SCORE_BINS if settings.held_out_fraction and settings.classes is not None else 0
    return [
        *on_job(site, PROTOCOL, job.digest),
        on_model(policy, MODEL),
        on_rounds(policy, settings.training.max_iter, "training.max_iter", "iteration"),
        PolicyCheck(
            "policy.max_validation_bins",
            f"{bins} bins" if bins else APPLIES_NOT,
            str(policy.max_validation_bins),
            lambda: check_validation_bins(policy, bins, _CURE_OF_BINS),
        ),
        *on_protection(policy, job),
        *checks_of_committee(policy, job),
        *on_holdings(site, job),
        *on_row_tables(site, job, here),
    ]
