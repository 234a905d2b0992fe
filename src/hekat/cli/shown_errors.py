"""Errors as a command shows them: what was expected, what came, the cure, and where things lie."""

from __future__ import annotations

import json
import sys
import traceback
from pathlib import Path

from hekat.channel.departure import FailureElsewhereError
from hekat.command_name import as_called
from hekat.data.columns.findings import ColumnsRefusedError
from hekat.errors import DivergedError, HekatError, PartyStoppedError
from hekat.printable import printable


def show_error(error: HekatError, *, as_json: bool) -> None:
    """Print the error and its notes on standard error; as JSON on standard output."""
    show_parts(_explain(error), notes_of(error), as_json=as_json)


def has_diverged(error: BaseException | None) -> bool:
    """Whether it, or what caused it at a party, is training that diverged."""
    while error is not None:
        kind = error.kind if isinstance(error, FailureElsewhereError) else type(error)
        if issubclass(kind, DivergedError):
            return True
        error = error.__cause__
    return False


def show_parts(parts: dict[str, str], notes: list[str], *, as_json: bool) -> None:
    """Print parts of an error by their names, in their order."""
    parts = {name: as_called(text) for name, text in parts.items()}
    if as_json:
        told = {"notes": "\n".join(notes)} if notes else {}
        sys.stdout.write(json.dumps({**parts, **told}, indent=1) + "\n")
        return
    for name, text in parts.items():
        sys.stderr.write(f"{'' if name == 'error' else '  '}{name}: {printable(text)}\n")
    for note in notes:
        sys.stderr.write(f"{as_called(note)}\n")


def notes_of(error: BaseException) -> list[str]:
    """The lines for this terminal alone: those that the command added to `error`, on where things lie, and what tables
    hold that a job leaves open."""
    lines = error.lines if isinstance(error, ColumnsRefusedError) else ()
    return [printable(line) for line in (*lines, *getattr(error, "__notes__", []))]


def place_of(error: BaseException) -> str:
    """File and line where `error` arose; never its text, which may hold a value."""
    frames = traceback.extract_tb(error.__traceback__)
    return f"{Path(frames[-1].filename).name}:{frames[-1].lineno}" if frames else "an unknown place"


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
                "because": f"{type(cause).__name__} at {place_of(cause)}",
                "cure": "this is a defect in Hekat: please report it with the job file",
            }
        parts = {"error": stopped, **reasons}
    if isinstance(error, PartyStoppedError):
        parts["saved"] = error.saved or "nothing yet"
    return {name: text for name, text in parts.items() if text}
