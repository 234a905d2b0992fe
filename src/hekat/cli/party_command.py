"""`hekat party`: a party's role of a loop's job, in a process of its own beside the engine that trains."""

from __future__ import annotations

import argparse
import math
from pathlib import Path

from rich.console import Console

from hekat.cli.run.runs_folder import RUNS_FOLDER
from hekat.cli.sigterm import interrupted_by_sigterm
from hekat.engine.tenancy import declare_tenancy
from hekat.errors import InputError, StateError
from hekat.launch.flower.loop_site import load_loop_site
from hekat.launch.flower.party_process import IDLE_S, PartyProcess
from hekat.live.bring_role_page import bring_role_page
from hekat.printable import printable


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = subparsers.add_parser(
        "party",
        help="play a party beside a SuperNode of Flower",
        description="Hold this site's party key, state, ledger and results, and play one run of the job. Code of a "
        "Flower app with ClientApp(mods=[protected]) brings and takes its sealed messages at the socket (mode 600). "
        "The run begins when the first message comes; the process ends with it. Nothing that comes at the socket "
        "changes what the approved job says.",
    )
    parser.add_argument("job", type=Path, help="the job file, which this site has approved")
    parser.add_argument("--socket", type=Path, required=True, help="where the socket is made, such as north.sock")
    parser.add_argument("--site", type=Path, help="the site file (default: site.toml beside the job)")
    parser.add_argument("--role", help="the party (default: the one role of the job that the site file has)")
    parser.add_argument("--runs", type=Path, default=RUNS_FOLDER, help=f"folder of runs (default: {RUNS_FOLDER})")
    parser.add_argument("--group", help="a group of users that may open the socket too (mode 660): the SuperNode's")
    parser.add_argument(
        "--idle", type=float, default=IDLE_S, metavar="SECONDS", help="end when no message comes for so long (12 hours)"
    )
    parser.set_defaults(handle=serve)


def serve(options: argparse.Namespace) -> int:
    if math.isnan(options.idle) or options.idle <= 0:
        raise InputError("--idle refused", expected="seconds above 0", got=str(options.idle), cure="change --idle")
    loop = load_loop_site(options.job, options.site, options.role, options.runs)
    if loop.role == loop.job.settings.aggregator:
        raise InputError(
            "the aggregator is no party",
            expected=f"one of {', '.join(loop.job.settings.parties)}",
            got=loop.role,
            cure="the server plays it: hekat.flower.Protected in the ServerApp",
        )
    bring_role_page()
    console = Console(stderr=True, highlight=False)

    def tell(text: str) -> None:
        console.print(printable(text), markup=False, soft_wrap=True)

    process = PartyProcess(loop, options.socket, group=options.group, idle_s=options.idle, tell=tell)
    tell(f"{loop.role} waits at {options.socket} for a run of job {loop.job.name}, digest {loop.job.digest.hex()[:16]}")
    with interrupted_by_sigterm(), declare_tenancy(loop.site.machine.single_tenant):
        run = process.serve()
    if run is None:
        raise StateError(
            "no run began",
            expected="a message of the engine's server",
            got=f"none within {options.idle:g} s",
            cure="start the SuperNode with this socket in its --node-config, and run the app",
        )
    if run.error is not None:
        raise run.error
    tell(f"{loop.role} played its role to the end\nrun folder  {options.runs / run.run_id}")
    return 0
