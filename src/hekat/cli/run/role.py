"""`hekat run --role`: one role of a job in this process, over a relay that carries its messages."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from rich.console import Console

from hekat.channel import PartyKey
from hekat.cli.option_clashes import refuse_options
from hekat.cli.passphrase import read_passphrase
from hekat.cli.run.end import print_path
from hekat.cli.run.horizontal import gather_dropouts
from hekat.cli.run.progress import RunProgress
from hekat.engine.tenancy import declare_tenancy
from hekat.errors import InputError, JobError
from hekat.job.job_head import read_head
from hekat.job.load_any_job import AnyJob, check_role_may_run, roles_of
from hekat.job.site_file import Site
from hekat.launch.horizontal.rehearsed_dropouts import check_dropouts
from hekat.launch.local import JoinRequest, join_relay
from hekat.run.horizontal.load_inputs import load_inputs
from hekat.run.horizontal.role_run import run_horizontal_role
from hekat.run.horizontal.upload_states import check_upload_states, has_all_rows
from hekat.run.own_keys import find_own_keys
from hekat.run.psi.load_inputs import load_intersection_inputs
from hekat.run.psi.role_run import run_intersection_role
from hekat.run.role_folder import Place
from hekat.run.vertical_linear.load_inputs import load_vertical_inputs
from hekat.run.vertical_linear.role_run import run_vertical_role


def run_role(options: argparse.Namespace) -> int:
    """Play the role that the options name; nothing is written before every role of the job is there."""
    head = read_head(options.job)
    command = f"hekat run JOB --role {options.role}"
    refuse_options(
        options, head.protocol, "resume", "start_from", "bandwidth", "latency", command=command, beside="--role"
    )
    if options.relay is None or options.dry_run or options.processes:
        raise InputError(
            "--role plays one role over a relay",
            expected="--role NAME --relay PATH, without --dry-run and --processes",
            got="no --relay" if options.relay is None else "--dry-run" if options.dry_run else "--processes",
            cure="name the relay's socket; or run all roles with: hekat run JOB --processes"
            if options.relay is None
            else "leave it out",
        )
    run = {"horizontal": _run_horizontal, "vertical_linear": _run_vertical, "psi": _run_psi}
    return run[head.protocol](options)


def _run_horizontal(options: argparse.Namespace) -> int:
    inputs = load_inputs(
        options.job,
        options.site,
        lambda: read_passphrase(options.passphrase_file, "the leader's"),
        role=options.role,
    )
    # A launcher on one machine gives keys in a folder; its site file has to show that it plays every party.
    is_together = options.keys is not None and has_all_rows(inputs.site, inputs.job)
    inputs = replace(inputs, launched_together=is_together)
    dropouts = _own_dropout(options)
    check_dropouts(inputs.job.settings, dropouts, 0)

    def check_states() -> None:
        check_upload_states(inputs, None, options.runs)

    with _placed(options, inputs.site, inputs.job, inputs.party_keys, check_states) as place:
        summary = run_horizontal_role(inputs, place, dropout_round=dropouts.get(options.role))
    return _show(options, place, summary)


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


def _run_vertical(options: argparse.Namespace) -> int:
    refuse_options(options, "vertical_linear", "lose")
    inputs = load_vertical_inputs(
        options.job, options.site, lambda: read_passphrase(options.passphrase_file, "a role's"), role=options.role
    )
    with _placed(options, inputs.site, inputs.job, inputs.party_keys) as place:
        summary = run_vertical_role(inputs, place)
    return _show(options, place, summary)


def _run_psi(options: argparse.Namespace) -> int:
    refuse_options(options, "psi", "lose", "passphrase_file")
    inputs = load_intersection_inputs(options.job, options.site, role=options.role)
    with _placed(options, inputs.site, inputs.job, inputs.party_keys) as place:
        summary = run_intersection_role(inputs, place)
    return _show(options, place, summary)


@contextmanager
def _placed(
    options: argparse.Namespace,
    site: Site,
    job: AnyJob,
    kept: Mapping[str, PartyKey],
    check: Callable[[], None] = lambda: None,
) -> Iterator[Place]:
    """The role's place once every role of the job has joined the relay; all checks come before."""
    role = options.role
    keys = find_own_keys(job, role, kept, options.keys)
    check_role_may_run(site, job, role)
    check()
    console = Console(stderr=options.json)
    with (
        declare_tenancy(site.machine.single_tenant),
        join_relay(options.relay, JoinRequest.of(role, job.digest), timeout_s=job.timeout_s) as channel,
        RunProgress(console, verbose=options.verbose) as progress,
    ):
        if sorted(channel.parties) != sorted(roles_of(job)):
            raise JobError(
                "the relay serves other roles than the job's",
                expected=", ".join(roles_of(job)),
                got=", ".join(channel.parties),
                cure="give the relay the same job file",
            )
        yield Place(role, channel, channel.terms.run_id, options.runs, keys, progress)


def _show(options: argparse.Namespace, place: Place, summary: Mapping[str, Any]) -> int:
    folder = options.runs / place.run_id
    if options.json:
        sys.stdout.write(json.dumps({"folder": str(folder), **summary}, indent=1) + "\n")
        return 0
    print_path(Console(), f"{place.role} played its role to the end\nrun folder  {folder}")
    return 0
