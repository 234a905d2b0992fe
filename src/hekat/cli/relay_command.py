"""`hekat relay`: carries the sealed messages of roles that each play in a process of their own on this machine."""

from __future__ import annotations

import argparse
from pathlib import Path

from rich.console import Console

from hekat.cli.sigterm import interrupted_by_sigterm
from hekat.errors import PartyLostError
from hekat.job.horizontal.job_file import Job
from hekat.job.horizontal_trees.job_file import RowTreesJob
from hekat.job.job_head import read_head
from hekat.job.load_any_job import check_is_played, load_any_job, roles_of
from hekat.launch.local import LocalRelay, RunTerms
from hekat.printable import printable
from hekat.state import new_run_id


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = subparsers.add_parser(
        "relay",
        help="carry the messages of roles that play in processes of their own on this machine",
        description="Serve one run of the job at a socket (mode 600): wait until every role has joined with hekat run "
        "JOB --role NAME --relay SOCKET, then carry their sealed messages to the end. The relay needs no site file and "
        "no key, reads no message, and writes nothing but the socket, which it removes.",
    )
    parser.add_argument("job", type=Path, help="the job file, the same as every role's")
    parser.add_argument("socket", type=Path, help="where the socket is made, such as relay.sock")
    parser.set_defaults(handle=serve)


def serve(options: argparse.Namespace) -> int:
    check_is_played(read_head(options.job).protocol)
    job = load_any_job(options.job)
    may_drop_out = job.settings.parties if isinstance(job, (Job, RowTreesJob)) and job.settings.bears_dropouts else ()
    console = Console(stderr=True, highlight=False)
    terms = RunTerms(new_run_id(), tuple(roles_of(job)))

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
