"""`hekat run --processes`: every role of a job in a process of its own on this machine."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping
from pathlib import Path

from rich.console import Console

from hekat.cli.option_clashes import refuse_options
from hekat.cli.passphrase import read_passphrase_file
from hekat.cli.run.end import going_on, show_run
from hekat.cli.run.horizontal import gather_dropouts, has_checkpoint
from hekat.cli.run.progress import RunProgress
from hekat.cli.sigterm import interrupted_by_sigterm
from hekat.errors import InputError, KeyRefusedError
from hekat.job.job_head import read_head
from hekat.launch.horizontal.processes import run_job_in_processes
from hekat.launch.local.processes import JobFiles
from hekat.launch.psi.processes import run_intersection_in_processes
from hekat.launch.run_result import RunResult
from hekat.launch.vertical_linear.processes import run_vertical_in_processes
from hekat.run.horizontal.load_inputs import load_inputs
from hekat.run.psi.load_inputs import load_intersection_inputs
from hekat.run.vertical_linear.checkpoint_files import has_checkpoints
from hekat.run.vertical_linear.load_inputs import load_vertical_inputs


def run_processes(options: argparse.Namespace) -> int:
    """Check the job whole, play it, and show it as `hekat run` does."""
    protocol = read_head(options.job).protocol
    command = "hekat run JOB --processes"
    refuse_options(
        options, protocol, "resume", "start_from", "bandwidth", "latency", command=command, beside="--processes"
    )
    if options.dry_run:
        raise InputError(
            "--dry-run begins nothing, so it starts no processes",
            expected="--dry-run or --processes",
            got="both",
            cure="leave one of them out",
        )
    files = JobFiles(options.job, options.site, options.passphrase_file)
    console = Console(stderr=options.json)
    run, may_go_on = _RUNNERS[protocol]
    with (
        RunProgress(console, verbose=options.verbose) as progress,
        going_on(progress, options, may_go_on),
        interrupted_by_sigterm(),
    ):
        result = run(options, files, progress)
    return show_run(result, console, options)


def _run_horizontal(options: argparse.Namespace, files: JobFiles, progress: RunProgress) -> RunResult:
    dropouts = gather_dropouts(options.lose)
    inputs = load_inputs(options.job, options.site, lambda: _read_passphrase(options, "the leader's"))
    return run_job_in_processes(inputs, files, options.runs, progress, dropouts=dropouts)


def _run_vertical(options: argparse.Namespace, files: JobFiles, progress: RunProgress) -> RunResult:
    refuse_options(options, "vertical_linear", "lose")
    inputs = load_vertical_inputs(options.job, options.site, lambda: _read_passphrase(options, "a role's"))
    return run_vertical_in_processes(inputs, files, options.runs, progress)


def _run_psi(options: argparse.Namespace, files: JobFiles, progress: RunProgress) -> RunResult:
    refuse_options(options, "psi", "lose", "passphrase_file")
    inputs = load_intersection_inputs(options.job, options.site)
    return run_intersection_in_processes(inputs, files, options.runs, progress)


def _read_passphrase(options: argparse.Namespace, whose: str) -> bytes:
    """From a file alone: each process opens the key for itself, and none of them has a terminal to ask at."""
    if options.passphrase_file is None:
        raise KeyRefusedError(
            f"{whose} key file is protected by a passphrase, which a process of its own has to be given",
            expected="--passphrase-file with --processes",
            got="no --passphrase-file",
            cure="add --passphrase-file FILE (mode 600)",
        )
    return read_passphrase_file(options.passphrase_file)


_Runner = Callable[[argparse.Namespace, JobFiles, RunProgress], RunResult]
_RUNNERS: Mapping[str, tuple[_Runner, Callable[[Path], bool]]] = {
    "horizontal": (_run_horizontal, has_checkpoint),
    "vertical_linear": (_run_vertical, has_checkpoints),
    "psi": (_run_psi, lambda folder: False),
}
