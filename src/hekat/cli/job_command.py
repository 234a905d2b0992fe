"""`hekat job`: what a job asks of this site, its digest to compare by telephone, and this site's approval of it."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from hekat.cli.run.runs_folder import RUNS_FOLDER
from hekat.errors import JobError
from hekat.job.agreed_terms import terms_of
from hekat.job.approvals import approve, has_approved, revoke
from hekat.job.job_head import read_head
from hekat.job.load_any_job import AnyJob, approvers_of, load_any_job, roles_of
from hekat.job.party_keys import caveats_on_keys
from hekat.job.site_file import Site, load_site
from hekat.printable import printable
from hekat.run.rows.upload_states import check_outlasts_runs

_WITH_THE_OTHERS = "with the other organisations, and each key's fingerprint with its owner, by telephone"
_APPROVED, _NOT_APPROVED, _APPROVES_NOTHING = "approved", "not approved", "the aggregator: approves nothing"


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = subparsers.add_parser(
        "job",
        help="what a job asks for, its digest, and this site's approval of it",
        description="A job whose file gives every role its party key runs at a site once every party there has "
        "approved exactly that file, by its digest. An approval lies in the party's state folder.",
    )
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    digest = actions.add_parser(
        "digest",
        help="the digest that organisations compare by telephone",
        description="SHA-256 of the job file's bytes: the same at every organisation, or the files differ.",
    )
    digest.add_argument("job", type=Path, help="the job file")
    digest.add_argument("--json", action="store_true", help="print JSON")
    digest.set_defaults(handle=show_digest)
    _add(actions, "show", "what the site would agree to", show)
    _add(actions, "approve", "show what the site agrees to, and note its approval", approve_job)
    _add(actions, "revoke", "take the site's approval back", revoke_job)


def _add(
    actions: argparse._SubParsersAction[argparse.ArgumentParser], name: str, what: str, handle: object
) -> argparse.ArgumentParser:
    parser = actions.add_parser(name, help=what, description=what[0].upper() + what[1:] + ".")
    parser.add_argument("job", type=Path, help="the job file")
    parser.add_argument("--site", type=Path, help="the site file (default: site.toml beside the job)")
    parser.add_argument("--party", help="this role alone (default: every one of the job that the site file has)")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.set_defaults(handle=handle)
    return parser


def show_digest(options: argparse.Namespace) -> int:
    found = read_head(options.job).digest.hex()
    sys.stdout.write(json.dumps({"digest": found}, indent=1) + "\n" if options.json else f"{found}\n")
    return 0


def show(options: argparse.Namespace) -> int:
    job, site, roles = _load(options)
    _tell(options, job, {role: _approval_of(job, site, role) for role in roles})
    return 0


def _approval_of(job: AnyJob, site: Site, role: str) -> str:
    """Whether the role has approved the job; the aggregator approves nothing, and a site may have no state folder."""
    if role not in approvers_of(job):
        return _APPROVES_NOTHING
    if site.parties[role].state is None:
        return "not approved: no state folder"
    return _APPROVED if has_approved(site, role, job.digest) else _NOT_APPROVED


def approve_job(options: argparse.Namespace) -> int:
    job, site, roles = _load(options)
    parties = _approvers_among(job, roles)
    for party in parties:  # before anything is written: each has its place
        has_approved(site, party, job.digest)
        check_outlasts_runs(party, site.parties[party].state or site.folder, RUNS_FOLDER)
    for party in parties:
        approve(site, party, job.digest, job.name)
    _tell(options, job, dict.fromkeys(parties, _APPROVED))
    return 0


def revoke_job(options: argparse.Namespace) -> int:
    job, site, roles = _load(options)
    parties = _approvers_among(job, roles)
    for party in parties:
        revoke(site, party, job.digest)
    _tell(options, job, dict.fromkeys(parties, _NOT_APPROVED))
    return 0


def _load(options: argparse.Namespace) -> tuple[AnyJob, Site, tuple[str, ...]]:
    """The job, the site, and the roles of the job at the site, or the one of them that was asked for."""
    job = load_any_job(options.job)
    site = load_site(options.site or options.job.parent / "site.toml")
    here = tuple(name for name in roles_of(job) if name in site.parties)
    if options.party is not None and options.party not in here:
        raise JobError(
            f"{options.party!r} has no part in this job here",
            expected=f"one of {', '.join(here)}" if here else "a role of the job under [party.NAME] of the site file",
            got=options.party,
            cure="name a role that both the job and the site file have",
        )
    if not here:
        raise JobError(
            "the site file has no role of this job",
            expected=f"one of {', '.join(roles_of(job))} under [party.NAME]",
            got=", ".join(sorted(site.parties)) or "none",
            cure="give the site file of a party that takes part",
        )
    return job, site, here if options.party is None else (options.party,)


def _approvers_among(job: AnyJob, roles: tuple[str, ...]) -> tuple[str, ...]:
    parties = tuple(role for role in roles if role in approvers_of(job))
    if not parties:
        raise JobError(
            f"{roles[0]} has nothing to approve",
            expected=f"one of {', '.join(approvers_of(job))}",
            got="the aggregator, which holds no rows and can open nothing",
            cure="read the job and compare its digest with the others: hekat job show",
        )
    return parties


def _tell(options: argparse.Namespace, job: AnyJob, approval: dict[str, str]) -> None:
    terms, keys = terms_of(job), {role: key.fingerprint for role, key in job.party_keys.items()}
    digest = job.digest.hex()
    if options.json:
        approved = {role: said == _APPROVED for role, said in approval.items() if said != _APPROVES_NOTHING}
        told = {"digest": digest, "terms": dict(terms), "party_keys": keys, "approved": approved}
        sys.stdout.write(json.dumps(told, indent=1) + "\n")
        return
    lines = [*terms, *((f"key of {role}", fingerprint) for role, fingerprint in keys.items())]
    lines += [*approval.items(), ("digest", digest)]
    width = max(len(name) for name, _ in lines)
    for name, value in lines:
        sys.stdout.write(printable(f"{name:<{width}}  {value}") + "\n")
    for note in caveats_on_keys(job.party_keys) or [f"compare the digest {_WITH_THE_OTHERS}"]:
        sys.stdout.write(f"{note}\n")
