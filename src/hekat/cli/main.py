"""Entry of the `hekat` command: picks the subcommand, and turns every refusal into a short answer and an exit code.

Exit codes: 0 done; 1 `audit` found ledgers that do not agree; 2 refused or failed, with the cure; 130 interrupted.
"""

from __future__ import annotations

import argparse
import json
import sys
import warnings
from collections.abc import Sequence
from typing import Any, NoReturn

import hekat
from hekat.cli import audit_command, doctor_command, keys_command, report_command, run_command
from hekat.errors import HekatError

INTERRUPTED = 130
_COMMANDS = (run_command, doctor_command, report_command, audit_command, keys_command)


class _Parser(argparse.ArgumentParser):
    """Answers a wrong argument in the style of every other refusal."""

    def error(self, message: str) -> NoReturn:
        sys.stderr.write(f"error: {message}\n  cure: {self.prog} --help\n")
        raise SystemExit(2)


def build_parser() -> argparse.ArgumentParser:
    """The parser with every subcommand."""
    parser = _Parser(
        prog="hekat",
        description="Federated learning across organisations with every update encrypted.",
        epilog="Start with: hekat doctor, then hekat run examples/hospitals/job.toml",
    )
    parser.add_argument("--version", action="version", version=f"hekat {hekat.__version__}")
    subparsers = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    for command in _COMMANDS:
        command.add_parser(subparsers)
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; returns its exit code."""
    options = build_parser().parse_args(arguments)
    warnings.showwarning = _show_warning
    try:
        code: int = options.handle(options)
        return code
    except HekatError as error:
        _show_error(error, as_json=getattr(options, "json", False))
        return error.exit_code
    except KeyboardInterrupt:
        sys.stderr.write("\ninterrupted; what was saved is in the run folder\n")
        return INTERRUPTED
    except BrokenPipeError:
        sys.stderr.close()
        return 0


def _show_warning(message: Warning | str, *_: Any, **__: Any) -> None:
    sys.stderr.write(f"warning: {message}\n")


def _show_error(error: HekatError, *, as_json: bool) -> None:
    parts = {"expected": error.expected, "got": error.got, "cure": error.cure}
    cause = error.__cause__
    reason = str(cause) if isinstance(cause, HekatError) else type(cause).__name__ if cause is not None else ""
    if as_json:
        content = {"error": error.what, **{name: text for name, text in parts.items() if text}, "because": reason}
        sys.stdout.write(json.dumps(content, indent=1) + "\n")
        return
    sys.stderr.write(f"error: {error.what}\n")
    if reason:
        sys.stderr.write(f"  because: {reason}\n")
    for name, text in parts.items():
        if text:
            sys.stderr.write(f"  {name}: {text}\n")


if __name__ == "__main__":
    raise SystemExit(main())
