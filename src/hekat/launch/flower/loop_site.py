"""A role of an averaging job at its own site: files, keys, and the site's leave, checked before anything is sent."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from hekat.disk_errors import disk_errors_as_state_errors
from hekat.errors import InputError, JobError
from hekat.job.averaging.job_file import PROTOCOL, AveragingJob, load_averaging_job
from hekat.job.horizontal.drawn_members import check_members_of
from hekat.job.job_head import read_head
from hekat.job.load_any_job import approvers_of, check_role, roles_of
from hekat.job.party_keys import SECTION
from hekat.job.policy.checks_of_job import enforce_policy
from hekat.job.site_file import Site, load_site
from hekat.launch.averaging_state import check_state
from hekat.run.load_keys import load_party_keys
from hekat.run.own_keys import OwnKeys
from hekat.toml_text import toml_key


@dataclass(frozen=True)
class LoopSite:
    """A role that its site allows; nothing was written or sent yet. `runs` is where run folders are made."""

    job: AveragingJob
    site: Site
    role: str
    runs: Path
    keys: OwnKeys = field(repr=False)

    def accept_members(self, members: Sequence[str]) -> None:
        """Raise PolicyError where the site forms no committee with the drawn members."""
        check_members_of(self.site, self.job, self.role, members)


def load_loop_site(job_path: Path, site_path: Path | None, role: str | None, runs: Path) -> LoopSite:
    """Load what a role needs, and hold its job against the site's policy; a refusal is in the site's ledger.

    `site_path` None: site.toml beside the job. `role` None: the one that the site file has.
    Raises a HekatError that names the file, key or party, what was expected and the cure.
    """
    _check_is_loop(job_path)
    job = load_averaging_job(job_path)
    _check_names_keys(job)
    _check_folder_of_runs(runs)
    site = load_site(site_path or job_path.parent / "site.toml")
    role = role or _only_role(site, job)
    check_role(job, role)
    enforce_policy(site, job, (role,))
    own = load_party_keys(site, [role], {role: job.party_keys[role]})
    if role in approvers_of(job):
        check_state(site, job, role, runs, is_together=False)
    return LoopSite(job, site, role, runs, OwnKeys(own[role], job.party_keys))


def load_aggregator_site(job_path: Path, site_path: Path | None, runs: Path) -> LoopSite:
    """As `load_loop_site`, for the role that adds."""
    _check_is_loop(job_path)
    return load_loop_site(job_path, site_path, load_averaging_job(job_path).settings.aggregator, runs)


def _check_folder_of_runs(runs: Path) -> None:
    """Where no folder can be made, a run would begin for all roles, and end for want of one."""
    with disk_errors_as_state_errors(f"{runs} cannot be looked at"):
        there = next(path for path in (runs, *runs.absolute().parents) if path.exists() or path.is_symlink())
        is_folder = there.is_dir()
    if not is_folder:
        raise InputError(
            "runs can have no folder here",
            expected="a folder, or a place where one can be made",
            got=f"{there}, which is another file",
            cure="name another place: --runs of hekat party, runs of Protected",
        )


def _check_names_keys(job: AveragingJob) -> None:
    if not job.party_keys:
        raise JobError(
            "the job names no party keys",
            expected=f"[{SECTION}] with the public key of each of {', '.join(job.settings.everyone)}",
            got="none: nothing would tell the roles who is who",
            cure="ask each role's owner for the line that `hekat keys party` prints, and compare fingerprints",
        )


def _check_is_loop(path: Path) -> None:
    protocol = read_head(path).protocol
    if protocol != PROTOCOL:
        is_horizontal = protocol == "horizontal"
        raise JobError(
            f"Flower cannot carry a job of protocol '{protocol}'",
            expected=f"protocol = {PROTOCOL!r}: code of a Flower app trains, Hekat sums its updates",
            got=f"protocol = {protocol!r}"
            + ("" if is_horizontal else ", which needs hundreds of messages from party to party"),
            cure="carry it by NVIDIA FLARE, hekat.nvflare.HekatRecipe(JOB).run(env); or run it on this machine: "
            "hekat run JOB",
        )


def _only_role(site: Site, job: AveragingJob) -> str:
    here = [name for name in roles_of(job) if name in site.parties]
    if len(here) != 1:
        raise JobError(
            "the site file does not say which role is played here",
            expected="one role of the job under [party.NAME], or --role NAME",
            got=", ".join(here) or f"none of {', '.join(roles_of(job))}",
            cure=f"name it with --role, or add [{toml_key('party', job.settings.parties[0])}] to the site file",
        )
    return here[0]
