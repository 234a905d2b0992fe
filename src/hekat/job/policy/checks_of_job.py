"""All that a site holds a job against, of whatever protocol, with the approval of its operators at the end."""

from __future__ import annotations

from hekat.job.averaging.job_file import AveragingJob
from hekat.job.averaging.site_check import averaging_checks
from hekat.job.encrypted_model.job_file import EncryptedModelJob
from hekat.job.encrypted_model.site_check import encrypted_model_checks
from hekat.job.horizontal.job_file import Job
from hekat.job.horizontal.site_check import horizontal_checks
from hekat.job.horizontal_trees.job_file import RowTreesJob
from hekat.job.horizontal_trees.site_check import row_trees_checks
from hekat.job.load_any_job import AnyJob, approvers_of, check_approved_by, needs_approval
from hekat.job.policy.budget_promises import on_promises
from hekat.job.policy.enforce import AskingJob, enforce
from hekat.job.policy.exact_sums import on_budgets, parties_summed_exactly
from hekat.job.policy.policy_check import PolicyCheck
from hekat.job.psi.job_file import IntersectionJob
from hekat.job.psi.site_check import intersection_checks
from hekat.job.site_file import Site
from hekat.job.vertical_linear.site_check import vertical_checks
from hekat.job.vertical_network.job_file import NetworkJob
from hekat.job.vertical_network.site_check import network_checks
from hekat.job.vertical_trees.job_file import TreesJob
from hekat.job.vertical_trees.site_check import trees_checks

APPROVAL = "approval (hekat job approve)"


def enforce_policy(site: Site, job: AnyJob, here: tuple[str, ...], *, is_rehearsal: bool = False) -> None:
    """Refuse a job that asks this site for more than it allows, before a row is read and anything is sent.

    `here` are the roles that this machine plays. What is refused is in the ledger of each of them, unless
    `is_rehearsal`. Raises PolicyError; JobError where the site file lacks a table.
    """
    enforce(site, AskingJob(job.name, job.digest, here, is_rehearsal), checks_of_job(site, job, here))


def checks_of_job(site: Site, job: AnyJob, here: tuple[str, ...]) -> list[PolicyCheck]:
    """Every line that the job is held against, for the roles `here`."""
    budgets = on_budgets(site, parties_summed_exactly(job), here)
    promises = on_promises(site, job, here)
    return [*_of_protocol(site, job, here), budgets, *promises, _on_approval(site, job, here)]


def _of_protocol(site: Site, job: AnyJob, here: tuple[str, ...]) -> list[PolicyCheck]:
    if isinstance(job, Job):
        return horizontal_checks(site, job, here)
    if isinstance(job, RowTreesJob):
        return row_trees_checks(site, job, here)
    if isinstance(job, EncryptedModelJob):
        return encrypted_model_checks(site, job, here)
    if isinstance(job, IntersectionJob):
        return intersection_checks(site, job, here)
    if isinstance(job, AveragingJob):
        return averaging_checks(site, job, here)
    if isinstance(job, TreesJob):
        return trees_checks(site, job, here)
    if isinstance(job, NetworkJob):
        return network_checks(site, job, here)
    return vertical_checks(site, job, here)


def _on_approval(site: Site, job: AnyJob, here: tuple[str, ...]) -> PolicyCheck:
    asked = [role for role in here if role in approvers_of(job)]
    is_needed = needs_approval(site, job) and bool(asked)
    return PolicyCheck(
        APPROVAL,
        f"to run at {', '.join(asked)}" if is_needed else "nothing to approve",
        "jobs that each of these roles has approved, by digest" if is_needed else "not needed",
        lambda: check_approved_by(site, job, here),
    )
