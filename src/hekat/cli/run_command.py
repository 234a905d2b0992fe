"""`hekat run`: checks a job whole, runs it on this machine, shows where it is, and leaves a folder and a report."""

from __future__ import annotations

import argparse
import getpass
import json
import math
import sys
from pathlib import Path

from rich.console import Console
from rich.markup import escape

from hekat.cli.estimate_tables import estimate_tables
from hekat.cli.printable import printable
from hekat.cli.progress import RunProgress
from hekat.cli.tables import show_findings, show_tables
from hekat.errors import HekatError, InputError, KeyRefusedError
from hekat.job.estimate import Line, estimate
from hekat.job.prepare import Prepared, prepare
from hekat.job.run import CHECKPOINT_FILE, RunResult, run_job
from hekat.job.upload_states import check_upload_states
from hekat.report import terminal_findings, terminal_tables, write_report

_MOST_DIGITS = 9


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = subparsers.add_parser(
        "run",
        help="run a job on this machine",
        description="Check a job and its site file whole, then train. Nothing is written before all checks passed.",
        epilog="Writes one new folder under --runs: events.jsonl, ledger/, checkpoint.npz, model.npz, summary.json, "
        "parties.json, report.html, state/. Example: hekat run examples/hospitals/job.toml",
    )
    parser.add_argument("job", type=Path, help="the job file (TOML): who trains what together, and how")
    parser.add_argument(
        "--site",
        type=Path,
        help="the site file: where this machine keeps data and keys (default: site.toml beside the job)",
    )
    parser.add_argument("--runs", type=Path, default=Path("runs"), help="where run folders are made (default: runs)")
    parser.add_argument(
        "--resume", type=Path, metavar="RUN", help="go on from the checkpoint of an earlier run's folder"
    )
    parser.add_argument(
        "--passphrase-file",
        type=Path,
        help="a file with the passphrase of the leader's key file; without it the terminal is asked",
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
        help="every check, then the bytes and seconds of a round by role; nothing is written or sent",
    )
    parser.add_argument(
        "--bandwidth", type=float, metavar="MBIT", help="with --dry-run: seconds on a line of so many Mbit/s"
    )
    parser.add_argument(
        "--latency", type=float, metavar="MS", help="with --dry-run and --bandwidth: milliseconds on the way"
    )
    parser.add_argument("--json", action="store_true", help="print the summary as JSON instead of tables")
    parser.set_defaults(handle=run)


def run(options: argparse.Namespace) -> int:
    losses = _gather_losses(options.lose)
    line = _line_of(options)
    prepared = prepare(options.job, options.site, lambda: _read_passphrase(options.passphrase_file))
    console = Console(stderr=options.json)
    if options.dry_run:
        return _show_estimate(prepared, line, options)
    if prepared.job.settings.protection == "none":
        console.print("[bold red]Protection is NONE: the aggregator will see every update in the clear.[/]")
    with RunProgress(console) as progress:
        try:
            result = run_job(prepared, options.runs, progress, resume_from=options.resume, losses=losses)
        except BaseException as error:
            for note in _how_to_go_on(progress.folder, options.job):
                error.add_note(note)
            raise
    report = _write_report(result, console)
    if options.json:
        sys.stdout.write(json.dumps({"folder": str(result.folder), **result.summary}, indent=1) + "\n")
        return 0
    show_tables(console, terminal_tables(result.summary))
    show_findings(console, terminal_findings(result.summary))
    _print_path(console, f"\nrun folder  {result.folder}")
    if report is not None:
        _print_path(console, f"report      {report}")
    _print_path(console, f"audit       hekat audit {result.folder}")
    return 0


def _line_of(options: argparse.Namespace) -> Line | None:
    """The line that --bandwidth and --latency describe. Raises InputError for options that do not go together."""
    clashes = ("resume", options.resume), ("lose", options.lose)
    given = [f"--{name}" for name, value in clashes if value]
    if options.dry_run and given:
        raise InputError(
            "--dry-run begins nothing, so it resumes and loses nothing",
            expected="--dry-run without --resume and --lose",
            got=" and ".join(given),
            cure="leave one of them out",
        )
    if not options.dry_run and (options.bandwidth is not None or options.latency is not None):
        raise InputError(
            "a line is only reckoned with, never slowed down",
            expected="--bandwidth and --latency with --dry-run",
            got="no --dry-run",
            cure="add --dry-run, or leave them out",
        )
    if options.bandwidth is None:
        if options.latency is not None:
            raise InputError("--latency without --bandwidth", expected="both", cure="add --bandwidth MBIT")
        return None
    latency = options.latency or 0.0
    if not (math.isfinite(options.bandwidth) and options.bandwidth > 0 and math.isfinite(latency) and latency >= 0):
        raise InputError(
            "no such line",
            expected="--bandwidth above 0 Mbit/s and --latency of 0 ms or more",
            got=f"{options.bandwidth:g} Mbit/s, {latency:g} ms",
            cure="correct them",
        )
    return Line(options.bandwidth * 1e6, latency / 1e3)


def _show_estimate(prepared: Prepared, line: Line | None, options: argparse.Namespace) -> int:
    check_upload_states(prepared, None)
    found = estimate(prepared, line)
    if options.json:
        sys.stdout.write(json.dumps(found.to_json(), indent=1) + "\n")
        return 0
    console = Console()
    show_tables(console, estimate_tables(found))
    console.print("\nevery check passed; nothing was written or sent", highlight=False)
    return 0


def _party_and_round(text: str) -> tuple[str, int]:
    party, _, number = text.rpartition(":")
    if not party or not (number.isascii() and number.isdigit() and len(number) <= _MOST_DIGITS):
        raise argparse.ArgumentTypeError(f"expected PARTY:ROUND, such as county:5; got {text[:60]!r}")
    return party, int(number)


def _gather_losses(pairs: list[tuple[str, int]]) -> dict[str, int]:
    losses = dict(pairs)
    if len(losses) < len(pairs):
        raise InputError(
            "a party that is lost twice",
            expected="one --lose for each party",
            got=", ".join(f"{party}:{number}" for party, number in pairs),
            cure="leave one of them out",
        )
    return losses


def _print_path(console: Console, line: str) -> None:
    """A line that is never broken, so that its path can be copied."""
    console.print(printable(line, keep="\n"), highlight=False, markup=False, soft_wrap=True)


def _how_to_go_on(folder: Path | None, job: Path) -> list[str]:
    """Where a run that did not end well lies, and how to take it up again."""
    if folder is None:
        return []
    notes = [f"the run lies in {folder}"]
    if (folder / CHECKPOINT_FILE).exists():
        notes.append(f"go on from its last checkpoint with: hekat run {job} --resume {folder}")
    return notes


def _write_report(result: RunResult, console: Console) -> Path | None:
    """The report; a run whose report cannot be drawn here is still a finished run, and says so."""
    try:
        return write_report(result.folder)
    except HekatError as error:
        console.print(f"[yellow]no report was written:[/] {escape(printable(error))}", highlight=False)
        return None


def _read_passphrase(path: Path | None) -> bytes:
    if path is not None:
        try:
            return path.read_bytes().rstrip(b"\r\n")
        except OSError as error:
            raise KeyRefusedError(
                "the passphrase file cannot be read",
                expected="a readable file",
                got=f"{path}: {error.strerror}",
                cure="check the path",
            ) from None
    if not sys.stdin.isatty():
        raise KeyRefusedError(
            "the leader's key file is protected by a passphrase",
            expected="--passphrase-file, or a terminal to ask at",
            got="neither",
            cure="add --passphrase-file FILE (mode 600)",
        )
    return getpass.getpass("passphrase of the leader's key file: ").encode()
