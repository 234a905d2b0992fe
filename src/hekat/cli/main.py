"""Entry of the `hekat` command: picks the subcommand, and turns every error into a short answer and an exit code.

`hekat.cli.exit_codes` names the exit codes.
"""

from __future__ import annotations

import argparse
import difflib
import os
import sys
import warnings
from collections.abc import Sequence
from importlib import import_module
from typing import Any, NoReturn

import hekat
from hekat.cli.exit_codes import ExitCode
from hekat.cli.shown_errors import notes_of, place_of, show_error, show_parts
from hekat.cli.standard_streams import guard_streams
from hekat.command_name import as_called
from hekat.errors import HekatError
from hekat.printable import printable

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
    "attack": "hekat.cli.attack.command",
    "report": "hekat.cli.report_command",
    "audit": "hekat.cli.audit_command",
    "keys": "hekat.cli.keys_command",
}


class _Parser(argparse.ArgumentParser):
    """Answers a wrong argument in the style of every other refusal; its help calls the command as it is called here."""

    def format_help(self) -> str:
        return as_called(super().format_help())

    def error(self, message: str) -> NoReturn:
        sys.stderr.write(f"error: {printable(message)}\n  cure: {as_called(f'{self.prog} --help')}\n")
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
    """Run one command; returns its exit code. Without `arguments` it is the process's own command."""
    if arguments is not None:
        return _run(arguments)
    streams = guard_streams()
    code = _run(sys.argv[1:])
    failure = streams.finish()
    return code if failure is None else _tell_unwritten(failure, code)


def _run(words: Sequence[str]) -> int:
    options, unknown = build_parser(words[0] if words else None).parse_known_args(words)
    if unknown:
        _refuse_unknown(options, unknown)
    warnings.showwarning = _show_warning
    try:
        code: int = options.handle(options)
        return code
    except HekatError as error:
        show_error(error, as_json=getattr(options, "json", False))
        return error.exit_code
    except KeyboardInterrupt as interrupt:
        sys.stderr.write("\n".join(["\ninterrupted", *map(as_called, notes_of(interrupt))]) + "\n")
        return INTERRUPTED
    except Exception as error:
        if os.environ.get(DEBUG_VARIABLE) == "1":
            raise
        parts = _explain_name(error) or _explain_defect(error)
        show_parts(parts, notes_of(error), as_json=getattr(options, "json", False))
        return ExitCode.REFUSED


def _refuse_unknown(options: argparse.Namespace, unknown: Sequence[str]) -> NoReturn:
    """Say which words no option takes, with the option that one of them may be meant for, and its command's help."""
    known = [f"--{name.replace('_', '-')}" for name in vars(options) if name not in ("command", "handle")]
    close = [near for word in unknown for near in difflib.get_close_matches(word.partition("=")[0], known, n=1)]
    meant = f"did you mean {close[0]}? See " if close else ""
    told = f"unrecognized arguments: {' '.join(unknown)}"
    sys.stderr.write(f"error: {printable(told)}\n  cure: {meant}{as_called(f'hekat {options.command} --help')}\n")
    raise SystemExit(ExitCode.REFUSED)


def _tell_unwritten(failure: OSError, code: int) -> int:
    """Say that output is missing, of a command that else ended with `code`; returns the code to end with."""
    parts = {
        "error": "not all of the output could be written",
        "expected": "standard output that takes it",
        "got": failure.strerror or type(failure).__name__,
        "cure": "the command itself went to its end; send its output elsewhere, and for a run print it again with: "
        "hekat report RUN",
    }
    show_parts(parts, [], as_json=False)
    return code or ExitCode.REFUSED


def _show_warning(message: Warning | str, *_: Any, **__: Any) -> None:
    sys.stderr.write(f"warning: {printable(message)}\n")


def _explain_name(error: Exception) -> dict[str, str]:
    """What to say where the name of a file, such as one after a party, has no bytes in this locale; {} for all else."""
    encoding = sys.getfilesystemencoding()
    if not isinstance(error, UnicodeEncodeError) or encoding == "utf-8" or error.encoding != encoding:
        return {}
    return {
        "error": "the name of a file or folder cannot be written in this locale",
        "expected": "a locale whose names of files are UTF-8, or names of parties and paths in ASCII",
        "got": f"{encoding}, and a name with another character",
        "cure": "set PYTHONUTF8=1 or LC_ALL=C.UTF-8 in the environment of the command",
    }


def _explain_defect(error: Exception) -> dict[str, str]:
    """What to say of an unforeseen exception: its type and place, never its text."""
    return {
        "error": f"{type(error).__name__} at {place_of(error)}",
        "cure": "this is a defect in Hekat: please report it with the command "
        f"({DEBUG_VARIABLE}=1 shows the traceback, which may hold values)",
    }


if __name__ == "__main__":
    raise SystemExit(main())
