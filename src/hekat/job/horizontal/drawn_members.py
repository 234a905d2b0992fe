"""Members of a committee that were drawn, held against the site's list while the job runs."""

from __future__ import annotations

from collections.abc import Sequence

from hekat.job.horizontal.committee_policy import MEMBERS_LINE, SummedJob, check_members
from hekat.job.policy.enforce import AskingJob, recorded
from hekat.job.site_file import Site


def check_members_of(site: Site, job: SummedJob, role: str, members: Sequence[str]) -> None:
    """As `check_members`, with the refusal in the role's ledger of refusals."""
    with recorded(site, AskingJob(job.name, job.digest, (role,)), MEMBERS_LINE):
        check_members(site.policy, job, members)
