"""`hekat run` of a horizontal job: the estimate of a dry run, then training with parties that may be lost."""

from __future__ import annotations

import argparse
import json
import math
import sys
from pathlib import Path

from rich.console import Console

from hekat.cli.estimate_tables import estimate_tables
from hekat.cli.option_clashes import refuse_options
from hekat.cli.passphrase import read_passphrase
from hekat.cli.progress import RunProgress
from hekat.cli.run_end import going_on, show_run
from hekat.cli.tables import show_tables
from hekat.errors import InputError
from hekat.job.estimate import Line, estimate
from hekat.job.load_any_job import check_may_run
from hekat.job.prepare import Prepared, prepare
from hekat.job.run import CHECKPOINT_FILE, run_job
from hekat.job.upload_states import check_upload_states


def run_horizontal(options: argparse.Namespace) -> int:
    """Run the job that the options name, or only check it and reckon what a round costs."""
    refuse_options(options, "horizontal", "start_from")
    losses = _gather_losses(options.lose)
    line = _line_of(options)
    prepared = prepare(options.job, options.site, lambda: read_passphrase(options.passphrase_file, "the leader's"))
    console = Console(stderr=options.json)
    if options.dry_run:
        return _show_estimate(prepared, line, options)
    if prepared.job.settings.protection == "none":
        console.print("[bold red]Protection is NONE: the aggregator will see every update in the clear.[/]")
    with RunProgress(console) as progress, going_on(progress, options, _has_checkpoint):
        result = run_job(prepared, options.runs, progress, resume_from=options.resume, losses=losses)
    return show_run(result, console, as_json=options.json)


def _has_checkpoint(folder: Path) -> bool:
    return (folder / CHECKPOINT_FILE).exists()


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
    check_may_run(prepared.site, prepared.job)
    check_upload_states(prepared, None, options.runs)
    found = estimate(prepared, line)
    if options.json:
        sys.stdout.write(json.dumps(found.to_json(), indent=1) + "\n")
        return 0
    console = Console()
    show_tables(console, estimate_tables(found))
    console.print("\nevery check passed; nothing was written or sent", highlight=False)
    return 0


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
