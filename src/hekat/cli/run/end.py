"""The end of a run on the terminal: its tables, where everything lies, what to do next; after a stop how to go on."""

from __future__ import annotations

import argparse
import json
import shlex
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from rich.console import Console

from hekat.cli.exit_codes import ExitCode
from hekat.cli.run.displays import Displays
from hekat.cli.run.progress import RunProgress
from hekat.cli.run.runs_folder import RUNS_FOLDER
from hekat.cli.shown_errors import has_diverged, show_parts
from hekat.cli.tables import show_brief, show_findings, show_tables
from hekat.command_name import as_called
from hekat.errors import HekatError, StateError
from hekat.launch.run_result import RunResult
from hekat.printable import printable
from hekat.protocol.role_session import LEDGER_FOLDER
from hekat.report import brief_of, terminal_findings, terminal_tables, write_report
from hekat.report.training_course import has_diverged as training_diverged
from hekat.report.write import REPORT_FILE
from hekat.run.horizontal.trained_model import MODEL_FILE
from hekat.run.predictions import holds_parts
from hekat.summary.summary_format import SUMMARY_FILE


@contextmanager
def going_on(
    progress: Displays | RunProgress, options: argparse.Namespace, may_go_on: Callable[[Path], bool]
) -> Iterator[None]:
    """Add the run's folder to the body's errors, and the command that resumes it where that is possible."""
    try:
        yield
    except BaseException as error:
        folder = progress.folder
        if folder is not None:
            error.add_note(f"the run lies in {folder}")
            if has_diverged(error):
                error.add_note("resumed, the unchanged job would diverge again: change it, and begin a new run")
            elif may_go_on(folder) and not _ends_run(error):
                error.add_note(f"go on from its last checkpoint with: {_resume_command(options, folder)}")
        raise


def _ends_run(error: BaseException | None) -> bool:
    """Whether it, or what caused it at a party, ended the run for all: a party takes part in no further run of it."""
    while error is not None:
        if isinstance(error, HekatError) and error.ends_run:
            return True
        error = error.__cause__
    return False


def _resume_command(options: argparse.Namespace, folder: Path) -> str:
    """What a shell takes to go on in `folder`, with the options that say where things lie."""
    words: list[object] = ["hekat", "run", options.job]
    if options.site is not None:
        words += ["--site", options.site]
    if options.runs != RUNS_FOLDER:
        words += ["--runs", options.runs]
    if options.passphrase_file is not None:
        words += ["--passphrase-file", options.passphrase_file]
    return shlex.join(str(word) for word in (*words, "--resume", folder))


def show_run(
    result: RunResult, console: Console, options: argparse.Namespace, *, places: Mapping[str, Path] | None = None
) -> int:
    """Write the report and print the run in short and where the rest lies; the summary alone with --json.

    With --verbose every table and finding is printed. `places` are further things that the run left, by what they are
    called. Returns the exit code.
    """
    report = _write_report(result)
    if options.json:
        sys.stdout.write(json.dumps({"folder": str(result.folder), **result.summary}, indent=1) + "\n")
        return _exit_code(report, result)
    if options.verbose:
        show_tables(console, terminal_tables(result.summary))
        show_findings(console, terminal_findings(result.summary))
    else:
        show_brief(console, brief_of(result.summary))
    print_path(console, f"\nrun folder  {result.folder}")
    left = {"summary": result.folder / SUMMARY_FILE, "ledgers": result.folder / LEDGER_FOLDER, **(places or {})}
    for name, path in left.items():
        print_path(console, f"{name:<11} {path}")
    if isinstance(report, Path):
        print_path(console, f"report      {report}")
    for name, command in _next_commands(result.folder).items():
        print_path(console, f"{name:<11} {command}")
    return _exit_code(report, result)


def tell_divergence(summary: Mapping[str, Any]) -> ExitCode:
    """The exit code of a finished run by how its training went; says on standard error where it diverged."""
    if not training_diverged(summary):
        return ExitCode.DONE
    sys.stderr.write("error: training diverged, and the model is of no use\n")
    return ExitCode.DIVERGED


def _next_commands(folder: Path) -> dict[str, str]:
    """What a shell takes to go on with a finished run, by what it does; words in capitals are the reader's to say."""
    run = shlex.quote(str(folder))
    commands = {"all tables": f"hekat report {run}", "audit": f"hekat audit {run}"}
    if holds_parts(folder):
        # No option says how rows are matched, by ids or by their order: the parts know.
        commands["predict"] = f"hekat predict {run} --site SITE.toml --source NAME --out SCORES.csv"
    elif (folder / MODEL_FILE).exists():  # the same model at every party, of all columns
        commands["predict"] = f"hekat predict {run} --data NEW.csv --out PREDICTIONS.csv"
    return {name: as_called(command) for name, command in commands.items()}


def print_path(console: Console, line: str) -> None:
    """A line that is never broken, so that its path can be copied."""
    console.print(printable(line, keep="\n"), highlight=False, markup=False, soft_wrap=True)


def _write_report(result: RunResult) -> Path | HekatError:
    """The report's path, or why there is none: the run is finished, and all else is shown first."""
    try:
        return write_report(result.folder)
    except HekatError as error:
        return error


def _exit_code(report: Path | HekatError, result: RunResult) -> int:
    """The exit code of a finished run; says on standard error what is wrong with it.

    A page that the disk does not take is an error. One that matplotlib is missing for is no part of this installation.
    """
    code = tell_divergence(result.summary)
    if isinstance(report, Path):
        return code
    if not isinstance(report, StateError):
        sys.stderr.write(f"no report was written: {printable(report)}\n")
        return code
    folder = result.folder
    again = shlex.join(["hekat", "report", str(folder)])
    parts = {
        "error": "the run is finished, and its report is missing",
        "expected": f"{REPORT_FILE} in {folder}",
        "got": f"{report.what}: {report.got}",
        "cure": f"{report.cure}: {again}",
    }
    show_parts(parts, [], as_json=False)
    return ExitCode.REFUSED
