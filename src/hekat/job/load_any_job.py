"""Loads a job of whatever protocol, and says who has to approve it: those that hold rows, or open what others send."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from pathlib import Path

from hekat.errors import JobError
from hekat.job.approvals import check_approved
from hekat.job.averaging.job_file import AveragingJob, load_averaging_job
from hekat.job.encrypted_model.job_file import EncryptedModelJob, load_encrypted_model_job
from hekat.job.horizontal.job_file import Job, load_job
from hekat.job.horizontal_trees.job_file import RowTreesJob, load_row_trees_job
from hekat.job.job_head import read_head
from hekat.job.psi.job_file import IntersectionJob, load_intersection_job
from hekat.job.site_file import Site
from hekat.job.vertical_linear.job_file import VerticalJob, load_vertical_job
from hekat.job.vertical_network.job_file import NetworkJob, load_network_job
from hekat.job.vertical_trees.job_file import TreesJob, load_trees_job

AnyJob = Job | RowTreesJob | EncryptedModelJob | VerticalJob | TreesJob | NetworkJob | IntersectionJob | AveragingJob

_LOADERS: Mapping[str, Callable[[Path], AnyJob]] = {
    "horizontal": load_job,
    "horizontal_trees": load_row_trees_job,
    "encrypted_model": load_encrypted_model_job,
    "vertical_linear": load_vertical_job,
    "vertical_trees": load_trees_job,
    "vertical_network": load_network_job,
    "psi": load_intersection_job,
    "averaging": load_averaging_job,
}


def load_any_job(path: Path) -> AnyJob:
    """The job at `path`, checked whole. Raises JobError, InputError or PolicyError with the key and the cure."""
    return _LOADERS[read_head(path).protocol](path)


def roles_of(job: AnyJob) -> tuple[str, ...]:
    """Everybody who takes part in the job."""
    return job.settings.parties if isinstance(job, IntersectionJob) else job.settings.everyone


def aggregator_of(job: AnyJob) -> str | None:
    """The role that adds updates; None where the job has none."""
    return job.settings.aggregator if isinstance(job, (Job, RowTreesJob, EncryptedModelJob, AveragingJob)) else None


def approvers_of(job: AnyJob) -> tuple[str, ...]:
    """Every role but an aggregator, which holds no rows and is given nothing that it can open."""
    aggregator = aggregator_of(job)
    return tuple(name for name in roles_of(job) if name != aggregator)


def check_is_played(protocol: str) -> None:
    """Raise JobError for jobs whose updates come from an app that an engine runs: there is nothing to play here."""
    if protocol == "averaging":
        raise JobError(
            "this job is of an app that an engine runs",
            expected="a job that Hekat trains itself",
            got="protocol 'averaging'",
            cure="start the app by its engine: protect(recipe, job=...) of hekat.nvflare (docs/how_to/nvflare.md); "
            "beside Flower, play a party: hekat party JOB (docs/how_to/flower.md)",
        )


def check_role(job: AnyJob, role: str) -> None:
    """Raise JobError where the job has no such role."""
    if role not in roles_of(job):
        raise JobError(
            f"the job has no role {role!r}",
            expected=f"one of: {', '.join(roles_of(job))}",
            got=repr(role),
            cure="give --role a name that the job names",
        )


def needs_approval(site: Site, job: AnyJob) -> bool:
    """Whether roles have to approve the job: one that names party keys, and each one where the site says so.

    Without keys only one machine plays all roles, and its owner's word to run the job is otherwise all there is to say.
    """
    return bool(job.party_keys) or site.policy.require_approval


def check_approved_by(site: Site, job: AnyJob, roles: Collection[str]) -> None:
    """Raise PolicyError where the job has to be approved and one of these roles, if it approves any, has not."""
    asked = [role for role in roles if role in approvers_of(job)]
    if needs_approval(site, job) and asked:
        check_approved(site, job.digest, asked)


def check_role_may_run(site: Site, job: AnyJob, role: str) -> None:
    """Raise PolicyError where this role of the site has not approved a job that has to be approved."""
    check_approved_by(site, job, [role])


def check_may_run(site: Site, job: AnyJob) -> None:
    """Raise PolicyError where the job has to be approved and not every role of this site has approved it."""
    check_approved_by(site, job, roles_of(job))
