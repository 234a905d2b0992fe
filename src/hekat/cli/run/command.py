"""`hekat run`: checks a job whole, runs it on this machine, shows where it is, and leaves a folder and a report."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import cast

from hekat.cli.run.live import add_live_options, refuse_useless_options
from hekat.cli.run.runs_folder import RUNS_FOLDER
from hekat.errors import InputError
from hekat.job.job_head import read_head
from hekat.job.load_any_job import check_is_played

_MOST_DIGITS = 9
# The module and the function of each protocol, and of the ways to play roles apart. A call loads those that it needs.
_RUNNERS = {
    "horizontal": ("hekat.cli.run.horizontal", "run_horizontal"),
    "horizontal_trees": ("hekat.cli.run.horizontal_trees", "run_row_trees"),
    "encrypted_model": ("hekat.cli.run.encrypted_model", "run_encrypted_model"),
    "vertical_linear": ("hekat.cli.run.vertical_linear", "run_vertical"),
    "vertical_trees": ("hekat.cli.run.vertical_trees", "run_trees"),
    "vertical_network": ("hekat.cli.run.vertical_network", "run_network"),
    "psi": ("hekat.cli.run.psi", "run_psi"),
}
_ONE_ROLE = ("hekat.cli.run.role", "run_role")
_PROCESSES = ("hekat.cli.run.processes", "run_processes")


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = subparsers.add_parser(
        "run",
        help="run a job on this machine",
        description="Check a job and its site file whole, then run what its protocol says: training (horizontal, "
        "horizontal_trees, encrypted_model, vertical_linear, vertical_trees, vertical_network) or a set intersection "
        "(psi). Nothing is written before all checks passed.",
        epilog="Writes one new folder under --runs: events.jsonl, ledger/, parties.json, summary.json, report.html, "
        "and what the protocol leaves: checkpoint.npz, model.npz, state/ (horizontal, horizontal_trees), model.npz, "
        "checkpoints/, kept/ (encrypted_model), parts/ (vertical_linear, vertical_trees, vertical_network), "
        "intersection/ (psi). Example: hekat run examples/hospitals/job.toml",
    )
    parser.add_argument("job", type=Path, help="the job file (TOML): who trains what together, and how")
    parser.add_argument(
        "--site",
        type=Path,
        help="the site file: where this machine keeps data and keys (default: site.toml beside the job)",
    )
    parser.add_argument(
        "--runs", type=Path, default=RUNS_FOLDER, help=f"where run folders are made (default: {RUNS_FOLDER})"
    )
    parser.add_argument(
        "--resume", type=Path, metavar="RUN", help="go on from the checkpoint of an earlier run's folder"
    )
    parser.add_argument(
        "--start-from",
        type=Path,
        metavar="RUN",
        help="begin with the model of an earlier, finished run's folder (vertical_linear, vertical_trees, "
        "vertical_network)",
    )
    parser.add_argument(
        "--passphrase-file",
        type=Path,
        help="a file with the passphrase of the leader's key file; without it hekat asks at the terminal",
    )
    parser.add_argument(
        "--lose",
        action="append",
        default=[],
        metavar="PARTY:ROUND",
        type=_party_and_round,
        help="stop this party in the middle of that round, to see the others go on (protection 'lattice'; repeatable)",
    )
    parser.add_argument(
        "--dry-run",
        action="store_true",
        help="make every check, then say what would run and what it costs by role; write and send nothing",
    )
    parser.add_argument(
        "--bandwidth",
        type=float,
        metavar="MBIT",
        help="with --dry-run: also estimate seconds on a network of MBIT Mbit/s",
    )
    parser.add_argument(
        "--latency",
        type=float,
        metavar="MS",
        help="with --dry-run and --bandwidth: the one-way latency in milliseconds",
    )
    parser.add_argument(
        "--processes",
        action="store_true",
        help="play every role in a process of its own, each with its own key, data and folder, over a local relay",
    )
    parser.add_argument(
        "--role",
        metavar="NAME",
        help="play this role alone, over the relay at --relay; the job needs [party_keys] (hekat keys party)",
    )
    parser.add_argument("--relay", type=Path, metavar="PATH", help="with --role: the socket of the run's relay")
    parser.add_argument(
        "--keys",
        type=Path,
        metavar="FOLDER",
        help="with --role, for a job without [party_keys]: the keys that --processes made for the role",
    )
    add_live_options(parser)
    parser.add_argument(
        "--verbose", action="store_true", help="print every table and finding, and more of the progress"
    )
    parser.add_argument("--json", action="store_true", help="print the summary as JSON instead of text")
    parser.set_defaults(handle=run)


def run(options: argparse.Namespace) -> int:
    refuse_useless_options(options)
    check_is_played(read_head(options.job).protocol)
    if options.role is not None:
        return _load(*_ONE_ROLE)(options)
    if options.relay is not None or options.keys is not None:
        raise InputError(
            "--relay and --keys are of one role",
            expected="--role NAME beside them",
            got="no --role",
            cure="name the role that this process is to play, or leave them out",
        )
    if options.processes:
        return _load(*_PROCESSES)(options)
    return _load(*_RUNNERS[read_head(options.job).protocol])(options)


def _load(module: str, function: str) -> Callable[[argparse.Namespace], int]:
    return cast(Callable[[argparse.Namespace], int], getattr(import_module(module), function))


def _party_and_round(text: str) -> tuple[str, int]:
    party, _, number = text.rpartition(":")
    if not party or not (number.isascii() and number.isdigit() and len(number) <= _MOST_DIGITS):
        raise argparse.ArgumentTypeError(f"expected PARTY:ROUND, such as county:5; got {text[:60]!r}")
    return party, int(number)
