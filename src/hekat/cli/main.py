"""Entry of the `hekat` command: picks the subcommand, and turns every error into a short answer and an exit code.

`hekat.cli.exit_codes` names the exit codes.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import traceback
import warnings
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, NoReturn

import hekat
from hekat.cli.exit_codes import ExitCode
from hekat.cli.printable import printable
from hekat.errors import HekatError, PartyStoppedError

INTERRUPTED = ExitCode.INTERRUPTED
DEBUG_VARIABLE = "HEKAT_DEBUG"
# The module of each command. A call loads the one that it names, and no other.
_COMMANDS = {
    "init": "hekat.cli.init.command",
    "job": "hekat.cli.job_command",
    "site": "hekat.cli.site.command",
    "run": "hekat.cli.run.command",
    "relay": "hekat.cli.relay_command",
    "party": "hekat.cli.party_command",
    "predict": "hekat.cli.predict.command",
    "doctor": "hekat.cli.doctor_command",
    "report": "hekat.cli.report_command",
    "audit": "hekat.cli.audit_command",
    "keys": "hekat.cli.keys_command",
}


class _Parser(argparse.ArgumentParser):
    """Answers a wrong argument in the style of every other refusal."""

    def error(self, message: str) -> NoReturn:
        sys.stderr.write(f"error: {printable(message)}\n  cure: {self.prog} --help\n")
        raise SystemExit(ExitCode.REFUSED)


def build_parser(command: str | None = None) -> argparse.ArgumentParser:
    """The parser with every subcommand; with that one alone where `command` names one."""
    parser = _Parser(
        prog="hekat",
        description="Federated learning across organisations with every update encrypted.",
        epilog="Start with: hekat doctor, then hekat init first --example, then hekat run first/job.toml",
    )
    parser.add_argument("--version", action="version", version=f"hekat {hekat.__version__}")
    subparsers = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    for name in [command] if command in _COMMANDS else _COMMANDS:
        import_module(_COMMANDS[name]).add_parser(subparsers)
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; returns its exit code."""
    words = sys.argv[1:] if arguments is None else arguments
    options = build_parser(words[0] if words else None).parse_args(words)
    warnings.showwarning = _show_warning
    try:
        code: int = options.handle(options)
        return code
    except HekatError as error:
        _show_error(error, as_json=getattr(options, "json", False))
        return error.exit_code
    except KeyboardInterrupt as interrupt:
        sys.stderr.write("\n".join(["\ninterrupted", *_notes_of(interrupt)]) + "\n")
        return INTERRUPTED
    except BrokenPipeError:
        # The reader of the output has left (`hekat audit RUN | head`): nothing is wrong, and no one is there to tell.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return ExitCode.DONE
    except Exception as error:
        if os.environ.get(DEBUG_VARIABLE) == "1":
            raise
        _show_parts(_explain_defect(error), _notes_of(error), as_json=getattr(options, "json", False))
        return ExitCode.REFUSED


def _show_warning(message: Warning | str, *_: Any, **__: Any) -> None:
    sys.stderr.write(f"warning: {printable(message)}\n")


def _show_error(error: HekatError, *, as_json: bool) -> None:
    _show_parts(_explain(error), _notes_of(error), as_json=as_json)


def _show_parts(parts: dict[str, str], notes: list[str], *, as_json: bool) -> None:
    if as_json:
        sys.stdout.write(json.dumps(parts, indent=1) + "\n")
        return
    for name, text in parts.items():
        sys.stderr.write(f"{'' if name == 'error' else '  '}{name}: {printable(text)}\n")
    for note in notes:
        sys.stderr.write(f"{note}\n")


def _notes_of(error: BaseException) -> list[str]:
    """The lines that the command added to `error`, on where things lie."""
    return [printable(note) for note in getattr(error, "__notes__", [])]


def _place_of(error: BaseException) -> str:
    """File and line where `error` arose; never its text, which may hold a value."""
    frames = traceback.extract_tb(error.__traceback__)
    return f"{Path(frames[-1].filename).name}:{frames[-1].lineno}" if frames else "an unknown place"


def _explain_defect(error: Exception) -> dict[str, str]:
    """What to say of an unforeseen exception: its type and place, never its text."""
    return {
        "error": f"{type(error).__name__} at {_place_of(error)}",
        "cure": "this is a defect in Hekat: please report it with the command "
        f"({DEBUG_VARIABLE}=1 shows the traceback, which may hold values)",
    }


def _explain(error: HekatError) -> dict[str, str]:
    """The answer's nonempty parts, in reading order."""
    parts = {"error": error.what, "expected": error.expected, "got": error.got, "cure": error.cure}
    cause = error.__cause__
    if isinstance(error, PartyStoppedError) and cause is not None:
        stopped = f"party {error.party!r} stopped in step {error.step!r}"
        if isinstance(cause, HekatError):
            reasons = {"because": cause.what, "expected": cause.expected, "got": cause.got, "cure": cause.cure}
        else:
            reasons = {
                "because": f"{type(cause).__name__} at {_place_of(cause)}",
                "cure": "this is a defect in Hekat: please report it with the job file",
            }
        parts = {"error": stopped, **reasons}
    if isinstance(error, PartyStoppedError):
        parts["saved"] = error.saved or "nothing yet"
    return {name: text for name, text in parts.items() if text}


if __name__ == "__main__":
    raise SystemExit(main())
