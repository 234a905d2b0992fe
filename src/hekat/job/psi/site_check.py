"""Whether a site lets a set intersection do what it asks for, line by line of its policy."""

from __future__ import annotations

from collections.abc import Collection

from hekat.job.policy.job_limits import check_single_ids
from hekat.job.policy.policy_check import PolicyCheck, refusals_of, refuse_first
from hekat.job.policy.shared_checks import on_job, on_key_sizes, on_parties
from hekat.job.psi.job_file import PROTOCOL, IntersectionJob
from hekat.job.site_file import Site


def check_site_allows_intersection(site: Site, job: IntersectionJob, here: Collection[str] | None = None) -> None:
    """Raise PolicyError or JobError where the job asks this site for what it does not have or does not allow.

    `here` are the parties that this machine plays, None for all.
    """
    refuse_first(refusals_of(intersection_checks(site, job, here)))


def intersection_checks(site: Site, job: IntersectionJob, here: Collection[str] | None = None) -> list[PolicyCheck]:
    """Every line that the job is held against; `here` as in `check_site_allows_intersection`.

    Lists of columns say nothing here: only ids are compared.
    """
    settings, policy = job.settings, site.policy
    return [
        *on_job(site, PROTOCOL, job.digest),
        on_key_sizes(policy, {"intersection.key_bits": settings.key_bits} if settings.kind == "rsa_blind" else {}),
        PolicyCheck(
            "policy.single_ids",
            "yes" if settings.allow_single else "no",
            "yes" if policy.single_ids else "no",
            lambda: check_single_ids(policy, is_asked=settings.allow_single),
        ),
        on_parties(site, settings.parties if here is None else here),
    ]
