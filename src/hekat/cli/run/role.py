"""`hekat run --role`: one role of a job in this process, over a relay that carries its messages."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from rich.console import Console

from hekat.cli.option_clashes import refuse_options
from hekat.cli.passphrase import read_passphrase
from hekat.cli.run.end import print_path, tell_divergence
from hekat.cli.run.horizontal import ROWS_PROTOCOLS, facts_to_show, gather_dropouts
from hekat.cli.run.live import displayed
from hekat.errors import InputError, JobError
from hekat.job.job_head import read_head
from hekat.job.load_any_job import roles_of
from hekat.launch.local import JoinRequest, join_relay
from hekat.launch.one_role import LoadedRole, RoleFiles, load_role
from hekat.run.role_folder import Place


def run_role(options: argparse.Namespace) -> int:
    """Play the role that the options name; nothing is written before every role of the job is there."""
    head = read_head(options.job)
    command = f"hekat run JOB --role {options.role}"
    refuse_options(options, head.protocol, "start_from", "bandwidth", "latency", command=command, beside="--role")
    if options.relay is None or options.dry_run or options.processes:
        raise InputError(
            "--role plays one role over a relay",
            expected="--role NAME --relay PATH, without --dry-run and --processes",
            got="no --relay" if options.relay is None else "--dry-run" if options.dry_run else "--processes",
            cure="name the relay's socket; or run all roles with: hekat run JOB --processes"
            if options.relay is None
            else "leave it out",
        )
    dropouts = _check_options(options, head.protocol)
    role = load_role(_files_of(options, head.protocol), options.role, dropouts=dropouts)
    with _placed(options, role) as place:
        summary = role.play(place)
    return _show(options, place, summary)


def _check_options(options: argparse.Namespace, protocol: str) -> dict[str, int]:
    """Raise InputError for options of other protocols; returns the role's own dropout, if there is one."""
    if protocol in ROWS_PROTOCOLS:
        return _own_dropout(options)
    refuse_options(options, protocol, "lose", *(("passphrase_file",) if protocol == "psi" else ()))
    return {}


def _files_of(options: argparse.Namespace, protocol: str) -> RoleFiles:
    whose = "the leader's" if protocol in ROWS_PROTOCOLS else "a role's"
    return RoleFiles(
        options.job,
        options.site,
        options.runs,
        lambda: read_passphrase(options.passphrase_file, whose),
        options.keys,
        options.resume,
    )


def _own_dropout(options: argparse.Namespace) -> dict[str, int]:
    dropouts = gather_dropouts(options.lose)
    if others := dropouts.keys() - {options.role}:
        # Only parties can be lost, so an aggregator's process has no --lose of its own either.
        raise InputError(
            "--lose of a party that another process plays",
            expected="--lose of the party that this process plays, or none",
            got=", ".join(f"{party}:{dropouts[party]}" for party in sorted(others)),
            cure="give --lose to the process that plays the party",
        )
    return dropouts


@contextmanager
def _placed(options: argparse.Namespace, loaded: LoadedRole) -> Iterator[Place]:
    """The role's place once every role of the job has joined the relay."""
    role, job = options.role, loaded.job
    console = Console(stderr=options.json)
    shown = {} if options.live is None or loaded.horizontal is None else facts_to_show(loaded.horizontal)
    with (
        loaded.tenancy(),
        displayed(options, console, job, played="alone", own_roles=(role,), **shown) as progress,
        join_relay(options.relay, JoinRequest.of(role, job.digest), timeout_s=job.timeout_s) as channel,
    ):
        if sorted(channel.parties) != sorted(roles_of(job)):
            raise JobError(
                "the relay serves other roles than the job's",
                expected=", ".join(roles_of(job)),
                got=", ".join(channel.parties),
                cure="give the relay the same job file",
            )
        yield Place(role, channel, channel.terms.run_id, options.runs, loaded.keys, progress)


def _show(options: argparse.Namespace, place: Place, summary: Mapping[str, Any]) -> int:
    folder = options.runs / place.run_id
    code = tell_divergence(summary)
    if options.json:
        sys.stdout.write(json.dumps({"folder": str(folder), **summary}, indent=1) + "\n")
        return code
    print_path(Console(), f"{place.role} played its role to the end\nrun folder  {folder}")
    return code
