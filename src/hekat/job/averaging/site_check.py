"""Whether a site lets a protected app's updates be averaged as the job asks for, line by line of its policy."""

from __future__ import annotations

from collections.abc import Collection

from hekat.job.averaging.job_file import PROTOCOL, AveragingJob
from hekat.job.horizontal.committee_policy import checks_of_committee
from hekat.job.policy.job_limits import (
    check_model,
    check_rounds,
    check_server_learns_model,
    check_value_bits,
    say_names,
)
from hekat.job.policy.policy_check import PolicyCheck
from hekat.job.policy.shared_checks import check_holds_nothing, check_opening, check_protections, on_job, on_parties
from hekat.job.site_file import Site

MODEL = "app"
"""What policy.models calls a model that an app brings with it."""


def averaging_checks(site: Site, job: AveragingJob, here: Collection[str] | None = None) -> list[PolicyCheck]:
    """Every line that the job is held against; `here` are the roles that this machine plays, None for all."""
    return [*_on_app(site, job, here), *_on_sums(site, job), *_on_roles(site, job, here)]


def _on_app(site: Site, job: AveragingJob, here: Collection[str] | None) -> list[PolicyCheck]:
    policy = site.policy
    # The server's own site has no rows to protect from the server.
    learns = job.server_learns_model and (here is None or bool(set(here) & set(job.settings.parties)))
    return [
        *on_job(site, PROTOCOL, job.digest),
        PolicyCheck(
            "policy.models",
            MODEL,
            "any" if policy.models is None else say_names(policy.models, "none"),
            lambda: check_model(policy, MODEL),
        ),
        PolicyCheck(
            "policy.max_rounds",
            f"{job.round_count} rounds",
            "no limit" if policy.max_rounds is None else str(policy.max_rounds),
            lambda: check_rounds(policy, job.round_count, "lower rounds in the job"),
        ),
        PolicyCheck(
            "policy.server_learns_model",
            "yes" if learns else "no",
            "yes" if policy.server_learns_model else "no",
            lambda: check_server_learns_model(policy) if learns else None,
        ),
    ]


def _on_sums(site: Site, job: AveragingJob) -> list[PolicyCheck]:
    settings, policy = job.settings, site.policy
    return [
        PolicyCheck(
            "policy.max_value_bits",
            f"{settings.codec.value_bits} bits",
            str(policy.max_value_bits),
            lambda: check_value_bits(policy, (settings.codec.value_bits,), "codec.value_bits"),
        ),
        PolicyCheck(
            "policy.protections",
            settings.protection,
            say_names(policy.protections, "none at all"),
            lambda: check_protections(policy, settings.protection),
        ),
        PolicyCheck(
            "policy.openings",
            settings.opening,
            say_names(policy.openings, "none at all"),
            lambda: check_opening(policy, settings.opening),
        ),
        *checks_of_committee(policy, job),
    ]


def _on_roles(site: Site, job: AveragingJob, here: Collection[str] | None) -> list[PolicyCheck]:
    parties = [party for party in job.settings.parties if here is None or party in here]
    aggregator = job.settings.aggregator
    return [
        PolicyCheck(
            "[party] of the aggregator",
            f"{aggregator} as aggregator",
            "no rows and no Paillier key",
            lambda: check_holds_nothing(site, aggregator, "aggregator"),
        ),
        on_parties(site, parties),
    ]
