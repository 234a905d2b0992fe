"""`hekat run --processes`: every role of a job in a process of its own on this machine."""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

from rich.console import Console

from hekat.cli.option_clashes import refuse_options
from hekat.cli.run.end import going_on, show_run
from hekat.cli.run.horizontal import facts_to_show, gather_dropouts, has_checkpoint
from hekat.cli.run.live import displayed
from hekat.cli.sigterm import interrupted_by_sigterm
from hekat.disk_errors import disk_errors_as_state_errors
from hekat.errors import InputError, KeyRefusedError
from hekat.job.job_head import read_head
from hekat.job.load_any_job import roles_of
from hekat.launch.encrypted_model.processes import run_encrypted_model_in_processes
from hekat.launch.horizontal.processes import run_job_in_processes
from hekat.launch.horizontal_trees.processes import run_row_trees_in_processes
from hekat.launch.local.processes import JobFiles
from hekat.launch.passphrase_file import read_passphrase_file
from hekat.launch.psi.processes import run_intersection_in_processes
from hekat.launch.run_result import RunResult
from hekat.launch.vertical_linear.processes import run_vertical_in_processes
from hekat.launch.vertical_network.run import run_network_in_processes
from hekat.launch.vertical_trees.run import run_trees_in_processes
from hekat.run.encrypted_model.load_inputs import EncryptedModelInputs, load_encrypted_model_inputs
from hekat.run.horizontal.load_inputs import HorizontalInputs, load_inputs
from hekat.run.horizontal_trees.load_inputs import RowTreesInputs, load_row_trees_inputs
from hekat.run.progress import Progress
from hekat.run.psi.load_inputs import IntersectionInputs, load_intersection_inputs
from hekat.run.vertical.checkpoint_files import has_checkpoints
from hekat.run.vertical_linear.load_inputs import VerticalInputs, load_vertical_inputs
from hekat.run.vertical_network.load_inputs import NetworkInputs, load_network_inputs
from hekat.run.vertical_trees.load_inputs import TreesInputs, load_trees_inputs


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
    console = Console(stderr=options.json)
    load, play, may_go_on = _RUNNERS[protocol]
    inputs = load(options)
    roles = roles_of(inputs.job)
    shown = facts_to_show(inputs) if isinstance(inputs, HorizontalInputs) and options.live is not None else {}
    with passing_folder() if options.live is not None else nullcontext() as place:
        figures = {} if place is None else {role: place / f"{number}.json" for number, role in enumerate(roles)}
        files = JobFiles(options.job, options.site, options.passphrase_file, figures)
        with (
            displayed(options, console, inputs.job, played="at once", figures=figures, **shown) as progress,
            going_on(progress, options, may_go_on),
            interrupted_by_sigterm(),
        ):
            result = play(inputs, options, files, progress)
    return show_run(result, console, options)


@contextmanager
def passing_folder() -> Iterator[Path]:
    """A folder that only this user reads, gone after the block. Raises StateError where none can be made."""
    with disk_errors_as_state_errors("no folder for the roles' figures can be made"):
        made = tempfile.TemporaryDirectory(prefix="hekat-figures-", ignore_cleanup_errors=True)
    with made as name:
        yield Path(name)


def _load_horizontal(options: argparse.Namespace) -> HorizontalInputs:
    gather_dropouts(options.lose)
    return load_inputs(options.job, options.site, lambda: _read_passphrase(options, "the leader's"))


def _load_row_trees(options: argparse.Namespace) -> RowTreesInputs:
    gather_dropouts(options.lose)
    return load_row_trees_inputs(options.job, options.site, lambda: _read_passphrase(options, "the leader's"))


def _load_encrypted_model(options: argparse.Namespace) -> EncryptedModelInputs:
    refuse_options(options, "encrypted_model", "lose")
    return load_encrypted_model_inputs(options.job, options.site, lambda: _read_passphrase(options, "the arbiter's"))


def _load_vertical(options: argparse.Namespace) -> VerticalInputs:
    refuse_options(options, "vertical_linear", "lose")
    return load_vertical_inputs(options.job, options.site, lambda: _read_passphrase(options, "a role's"))


def _load_trees(options: argparse.Namespace) -> TreesInputs:
    refuse_options(options, "vertical_trees", "lose")
    return load_trees_inputs(options.job, options.site, lambda: _read_passphrase(options, "the guest's"))


def _load_network(options: argparse.Namespace) -> NetworkInputs:
    refuse_options(options, "vertical_network", "lose", "passphrase_file")
    return load_network_inputs(options.job, options.site)


def _load_psi(options: argparse.Namespace) -> IntersectionInputs:
    refuse_options(options, "psi", "lose", "passphrase_file")
    return load_intersection_inputs(options.job, options.site)


def _play_horizontal(
    inputs: HorizontalInputs, options: argparse.Namespace, files: JobFiles, progress: Progress
) -> RunResult:
    dropouts = gather_dropouts(options.lose)
    return run_job_in_processes(inputs, files, options.runs, progress, dropouts=dropouts)


def _play_row_trees(
    inputs: RowTreesInputs, options: argparse.Namespace, files: JobFiles, progress: Progress
) -> RunResult:
    dropouts = gather_dropouts(options.lose)
    return run_row_trees_in_processes(inputs, files, options.runs, progress, dropouts=dropouts)


def _play_encrypted_model(
    inputs: EncryptedModelInputs, options: argparse.Namespace, files: JobFiles, progress: Progress
) -> RunResult:
    return run_encrypted_model_in_processes(inputs, files, options.runs, progress)


def _play_vertical(
    inputs: VerticalInputs, options: argparse.Namespace, files: JobFiles, progress: Progress
) -> RunResult:
    return run_vertical_in_processes(inputs, files, options.runs, progress)


def _play_trees(inputs: TreesInputs, options: argparse.Namespace, files: JobFiles, progress: Progress) -> RunResult:
    return run_trees_in_processes(inputs, files, options.runs, progress)


def _play_network(inputs: NetworkInputs, options: argparse.Namespace, files: JobFiles, progress: Progress) -> RunResult:
    return run_network_in_processes(inputs, files, options.runs, progress)


def _play_psi(
    inputs: IntersectionInputs, options: argparse.Namespace, files: JobFiles, progress: Progress
) -> RunResult:
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


_Load = Callable[[argparse.Namespace], Any]
_Play = Callable[[Any, argparse.Namespace, JobFiles, Progress], RunResult]
_RUNNERS: Mapping[str, tuple[_Load, _Play, Callable[[Path], bool]]] = {
    "horizontal": (_load_horizontal, _play_horizontal, has_checkpoint),
    "horizontal_trees": (_load_row_trees, _play_row_trees, has_checkpoint),
    "encrypted_model": (_load_encrypted_model, _play_encrypted_model, has_checkpoints),
    "vertical_linear": (_load_vertical, _play_vertical, has_checkpoints),
    "vertical_trees": (_load_trees, _play_trees, has_checkpoints),
    "vertical_network": (_load_network, _play_network, has_checkpoints),
    "psi": (_load_psi, _play_psi, lambda folder: False),
}
