"""How a job fits a site, for every line at once; nothing is written and no row is read."""

from __future__ import annotations

from dataclasses import dataclass

from hekat.errors import HekatError, JobError
from hekat.job.load_any_job import AnyJob, approvers_of, check_role, roles_of
from hekat.job.policy.checks_of_job import checks_of_job
from hekat.job.site_file import Site


@dataclass(frozen=True)
class JudgedLine:
    """A line, what the job asks and the site allows there, and the refusal with its cure; "" where it fits."""

    line: str
    asked: str
    allowed: str
    refusal: str
    cure: str


def roles_here(site: Site, job: AnyJob, party: str | None = None) -> tuple[str, ...]:
    """The roles of the job that this site plays: those in its site file, or `party` alone; every role where it has all
    that hold rows or open sums. Raises JobError where there is none."""
    if party is not None:
        check_role(job, party)
        return (party,)
    named = tuple(name for name in roles_of(job) if name in site.parties)
    if not named:
        raise JobError(
            "the site file has no role of this job",
            expected=f"one of {', '.join(roles_of(job))} under [party.NAME]",
            got=", ".join(sorted(site.parties)) or "none",
            cure="give the site file of a party that takes part",
        )
    return roles_of(job) if set(approvers_of(job)) <= set(named) else named


def judge_job(site: Site, job: AnyJob, here: tuple[str, ...]) -> list[JudgedLine]:
    """Every line that the job is held against, in the order of the checks of a run."""
    judged = []
    for one in checks_of_job(site, job, here):
        refusal, cure = "", ""
        try:
            one.check()
        except HekatError as error:
            refusal, cure = error.what, error.cure
        judged.append(JudgedLine(one.line, one.asked, one.allowed, refusal, cure))
    return judged
