"""A site's rules on committees: allowed members, the fewest members, and the fewest updates in a sum."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from hekat.channel import PartyPublicKey
from hekat.errors import PolicyError
from hekat.job.averaging.job_file import AveragingJob
from hekat.job.horizontal.job_file import Job
from hekat.job.horizontal_trees.job_file import RowTreesJob
from hekat.job.policy.policy_check import APPLIES_NOT, PolicyCheck
from hekat.job.policy.site_lines import SitePolicy, is_key_line
from hekat.protocol.secure_sum.masked.opening.committee import member_count_of
from hekat.protocol.secure_sum.masked.opening.opening_schemes import least_parties
from hekat.protocol.secure_sum.settings import SumSettings

SummedJob = Job | RowTreesJob | AveragingJob
MEMBERS_LINE = "policy.committee_members"


def checks_of_committee(policy: SitePolicy, job: SummedJob) -> list[PolicyCheck]:
    """The lines of the site's policy on committees that the job is held against."""
    settings = job.settings
    count = member_count_of(len(settings.parties))
    known = policy.committee_members
    return [
        PolicyCheck(
            "policy.min_parties",
            f"{fewest_updates(job)} or more updates" if settings.protection != "none" else APPLIES_NOT,
            str(policy.min_parties),
            lambda: check_min_parties(policy, job),
        ),
        PolicyCheck(
            "policy.min_committee_members",
            f"{count} members" if has_committee(job) else APPLIES_NOT,
            str(policy.min_committee_members),
            lambda: check_member_count(policy, job),
        ),
        PolicyCheck(
            MEMBERS_LINE,
            f"{count} of {len(settings.parties)} parties" if has_committee(job) else APPLIES_NOT,
            "anybody" if known is None else f"{len(known)} entries",
            lambda: check_enough_members(policy, job),
        ),
    ]


def check_committee(policy: SitePolicy, job: SummedJob) -> None:
    """Raise PolicyError, before anything is sent, where the site allows no committee of the job's parties."""
    check_min_parties(policy, job)
    check_member_count(policy, job)
    check_enough_members(policy, job)


def has_committee(job: SummedJob) -> bool:
    """Whether a committee opens the job's sums."""
    return job.settings.protection == "lattice" and job.settings.opening == "committee"


def fewest_updates(job: SummedJob) -> int:
    """The fewest updates in a sum that is opened: under `lattice` the job bears losses, under `paillier` it bears none.

    Under `none` nothing is summed before somebody sees it: 1.
    """
    settings = job.settings
    if settings.protection == "none":
        return 1
    if settings.protection == "paillier":
        return _sums_of(job).sample_size
    return least_parties(_sums_of(job), _sums_of(job).sample_size)


def _sums_of(job: SummedJob) -> SumSettings:
    return job.settings if isinstance(job, AveragingJob) else job.settings.sums


def check_min_parties(policy: SitePolicy, job: SummedJob) -> None:
    """Raise PolicyError where a sum may be of fewer updates than the site allows.

    A site that allows protection `none` allows single updates to be seen: policy.protections says so.
    """
    least = fewest_updates(job)
    if job.settings.protection != "none" and least < policy.min_parties:
        is_borne = job.settings.protection == "lattice"
        raise PolicyError(
            "a sum of this job may be of fewer parties than the site allows",
            expected=f"at least {policy.min_parties} updates in every sum that is opened",
            got=f"{least} or more",
            cure=(f"set {_key_of_min_parties(job)} = {policy.min_parties}" if is_borne else "name more parties")
            + " in the job"
            + ", or let the site's owner lower policy.min_parties",
        )


def _key_of_min_parties(job: SummedJob) -> str:
    return "training.min_parties" if isinstance(job, Job) else "min_parties"


def check_member_count(policy: SitePolicy, job: SummedJob) -> None:
    """Raise PolicyError for a committee that is smaller than the site allows."""
    count = member_count_of(len(job.settings.parties))
    if has_committee(job) and count < policy.min_committee_members:
        raise PolicyError(
            "the committee is smaller than the site allows",
            expected=f"at least {policy.min_committee_members} members",
            got=f"{count}, of {len(job.settings.parties)} parties",
            cure="name more parties in the job (members are all of them, up to seven), or let the site's owner lower "
            "policy.min_committee_members",
        )


def check_enough_members(policy: SitePolicy, job: SummedJob) -> None:
    """Raise PolicyError where no committee of parties that the site knows can be drawn from the job's."""
    if not has_committee(job):
        return
    settings = job.settings
    count = member_count_of(len(settings.parties))
    strangers = _strangers(policy, job.party_keys, settings.parties)
    if len(settings.parties) - len(strangers) < count:
        raise _refuse(strangers, job, f"{count} members that the site forms a committee with")


def check_members(policy: SitePolicy, job: SummedJob, members: Sequence[str]) -> None:
    """Raise PolicyError where a member that was drawn is none with whom the site forms a committee.

    Call it before any share is dealt. The writer of a job cannot steer the draw with it: it only refuses.
    """
    strangers = _strangers(policy, job.party_keys, members)
    if strangers:
        raise _refuse(strangers, job, "members that the site forms a committee with")


def _strangers(policy: SitePolicy, keys: Mapping[str, PartyPublicKey], parties: Iterable[str]) -> list[str]:
    """The parties with which the site forms no committee: by key where the job gives names keys, else by name.

    A name in the site's list says nothing about a job with keys, because the writer of that job chooses its names.
    """
    if policy.committee_members is None:
        return []
    if not keys:
        return [party for party in parties if party not in policy.committee_members]
    allowed = {PartyPublicKey.from_line(line) for line in policy.committee_members if is_key_line(line)}
    return [party for party in parties if keys[party] not in allowed]


def _refuse(strangers: Sequence[str], job: SummedJob, expected: str) -> PolicyError:
    fingerprints = [f"{party} (key {job.party_keys[party].fingerprint})" for party in strangers if job.party_keys]
    return PolicyError(
        "the site forms no committee with these members",
        expected=expected,
        got=", ".join(fingerprints or strangers) + f" not in {MEMBERS_LINE}",
        cure=f"leave them out of the job, or let the site's owner add "
        f"{'their public keys' if job.party_keys else 'their names'} to {MEMBERS_LINE}",
    )
