"""Whether a site lets a job of boosted trees across columns do what it asks for, line by line of its policy."""

from __future__ import annotations

from collections.abc import Collection

from hekat.errors import PolicyError
from hekat.job.policy.job_limits import say_names
from hekat.job.policy.policy_check import PolicyCheck, refusals_of, refuse_first
from hekat.job.policy.shared_checks import check_protections, on_job, on_key_sizes, on_model, on_rounds
from hekat.job.site_file import Site
from hekat.job.trees.sections import MODEL
from hekat.job.vertical.site_checks import (
    intersection_key_size,
    on_joined_rows,
    on_labels,
    on_tables,
    yes_or_no,
)
from hekat.job.vertical_trees.job_file import PROTOCOL, TreesJob
from hekat.protocol.vertical_trees.settings import PROTECTIONS


def check_site_allows_trees(site: Site, job: TreesJob, here: Collection[str] | None = None) -> None:
    """Raise PolicyError or JobError where the job asks this site for what it does not have or does not allow.

    `here` are the roles that this machine plays, None for all.
    """
    refuse_first(refusals_of(trees_checks(site, job, here)))


def trees_checks(site: Site, job: TreesJob, here: Collection[str] | None = None) -> list[PolicyCheck]:
    """Every line that the job is held against; `here` as in `check_site_allows_trees`."""
    settings, policy = job.settings, site.policy
    sizes = {"protection.key_bits": settings.key_bits} if settings.protection == "paillier" else {}
    return [
        *on_job(site, PROTOCOL, job.digest),
        on_model(policy, MODEL),
        on_rounds(policy, settings.training.max_iter, "training.max_iter", "iteration"),
        PolicyCheck(
            "policy.protections",
            settings.protection,
            say_names(policy.protections, "none at all"),
            lambda: check_protections(policy, settings.protection, known=PROTECTIONS),
        ),
        on_key_sizes(policy, {**sizes, **intersection_key_size(job)}),
        *_on_leaks(site, job),
        *on_labels(policy, job, here),
        on_joined_rows(job, policy),
        *on_tables(site, job, settings.parties, here),
    ]


def _on_leaks(site: Site, job: TreesJob) -> list[PolicyCheck]:
    settings, policy = job.settings, site.policy
    return [
        yes_or_no(
            "policy.bin_leak_waiver",
            settings.bin_leak_accepted is not None,
            policy.bin_leak_waiver,
            PolicyError(
                "the site does not allow a job to waive the limit on what sums tell the guest of bins",
                expected="policy.bin_leak_waiver = true (sums of many trees may tell the guest bins of hosts)",
                got="false",
                cure="remove [bin_leak] from the job: fewer trees, fewer bins or more rows may need none; or let the "
                "site's owner allow it",
            ),
        ),
        yes_or_no(
            "policy.hide_partition",
            settings.hide_partition,
            policy.hide_partition,
            PolicyError(
                "the site does not allow a job to hide from hosts which rows a node has",
                expected="policy.hide_partition = true (hosts cannot see then whether a sum is of few rows)",
                got="false",
                cure="set protection.hide_partition = false in the job, or let the site's owner allow it",
            ),
        ),
    ]
