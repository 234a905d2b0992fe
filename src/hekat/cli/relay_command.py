"""`hekat relay`: carries the sealed messages of roles that each play in a process of their own on this machine."""

from __future__ import annotations

import argparse
from pathlib import Path

from rich.console import Console

from hekat.cli.names_option import names_option
from hekat.cli.sigterm import interrupted_by_sigterm
from hekat.errors import InputError, PartyLostError
from hekat.job.horizontal.job_file import Job
from hekat.job.horizontal_trees.job_file import RowTreesJob
from hekat.job.job_head import read_head
from hekat.job.load_any_job import AnyJob, check_is_played, load_any_job, roles_of
from hekat.launch.local import LocalRelay, RunTerms
from hekat.printable import printable
from hekat.state import new_run_id


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = subparsers.add_parser(
        "relay",
        help="carry the messages of roles that play in processes of their own on this machine",
        description="Serve one run of the job at a socket (mode 600): wait until every role has joined with hekat run "
        "JOB --role NAME --relay SOCKET (for a joint prediction: with hekat predict RUN --role NAME), then carry their "
        "sealed messages to the end. The relay needs no site file and no key, reads no message, and writes nothing but "
        "the socket, which it removes.",
    )
    parser.add_argument("job", type=Path, help="the job file, the same as every role's")
    parser.add_argument("socket", type=Path, help="where the socket is made, such as relay.sock")
    parser.add_argument(
        "--roles",
        type=names_option,
        metavar="A,B",
        help="the roles that meet, where not all of the job's do: of a joint prediction (default: all of the job)",
    )
    parser.set_defaults(handle=serve)


def serve(options: argparse.Namespace) -> int:
    check_is_played(read_head(options.job).protocol)
    job = load_any_job(options.job)
    may_drop_out = job.settings.parties if isinstance(job, (Job, RowTreesJob)) and job.settings.bears_dropouts else ()
    console = Console(stderr=True, highlight=False)
    terms = RunTerms(new_run_id(), _roles_that_meet(options, job))

    def tell(text: str) -> None:
        console.print(printable(text), markup=False, soft_wrap=True)

    def note_dropout(error: PartyLostError) -> None:
        tell(f"{error.party} dropped out in step {error.step}: {error.reason}")

    with (
        interrupted_by_sigterm(),
        LocalRelay(options.socket, terms, job.digest, timeout_s=job.timeout_s, may_drop_out=may_drop_out) as relay,
    ):
        tell(f"run {terms.run_id}: waiting at {options.socket} for {', '.join(terms.roles)}")
        relay.serve(note_dropout, lambda: tell("every role is there"))
    tell("every role has ended")
    return 0


def _roles_that_meet(options: argparse.Namespace, job: AnyJob) -> tuple[str, ...]:
    """The roles that `--roles` names, otherwise the job's. Raises InputError for others than the job's."""
    every = tuple(roles_of(job))
    named: tuple[str, ...] = every if options.roles is None else options.roles
    if not set(named) <= set(every) or len(set(named)) != len(named) or len(named) < 2:
        raise InputError(
            "there is no run of these roles",
            expected=f"two or more of {', '.join(every)}, each once",
            got=", ".join(named),
            cure="correct --roles",
        )
    return named
