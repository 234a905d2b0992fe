"""What the aggregator could see, as its signed ledger has it, in one table."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from hekat.report.table import Table

_SEEN_LINE = re.compile(
    r"(?P<step>[^\s:]+): (?P<cls>disclosed|sealed|ciphertext|public)(?: \((?P<what>.*)\))?, from (?P<peers>.+)",
    re.DOTALL,
)
_NOTHING = "nothing secret"
# Class, step, from whom, what it was.
_Row = tuple[str, str, str, str]
_SEEN_ORDER = ("disclosed", "ciphertext", "sealed", "public", "")
_SEEN_CLASSES = {
    "disclosed": "readable to it",
    "ciphertext": "encrypted, cannot open it",
    "sealed": "sealed to it: it alone opens",
    "public": "public",
    "": "as its ledger says",
}


def aggregator_table(summary: Mapping[str, Any]) -> Table:
    """Everything the aggregator was sent: what it can read first."""
    everybody = ", ".join(sorted(party["name"] for party in summary["parties"]))
    rows = [_seen_row(line, everybody) for line in summary["aggregator_saw"]]
    rows = _merge_public(sorted(rows, key=lambda row: _SEEN_ORDER.index(row[0])))
    sums = summary.get("aggregator_saw_steps", [])
    spread = f" A … stands for each of {', '.join(sums)}." if sums else ""
    return Table(
        "What the aggregator was sent, from its signed ledger",
        ("how it could read it", "step", "from", "what it was"),
        tuple((_SEEN_CLASSES[cls], *cells) for cls, *cells in rows),
        f"A * in a step stands for a number, as in every round.{spread} "
        "Beside this it sees sizes and times of messages.",
        text_columns=4,
    )


def _merge_public(rows: list[_Row]) -> list[_Row]:
    """The rows with those that hold nothing secret in one for each sender: they are many, and say the same."""
    merged: dict[tuple[str, str, str, str], _Row] = {}
    for cls, step, peers, what in rows:
        key = (cls, "" if what == _NOTHING else step, peers, what)
        steps = f"{merged[key][1]}, {step}" if key in merged and what == _NOTHING else step
        merged[key] = (cls, steps, peers, what)
    return list(merged.values())


def _seen_row(line: str, everybody: str) -> _Row:
    """(class, step, from whom, text) of a line of the summary; one of another form is kept whole, without a class."""
    found = _SEEN_LINE.fullmatch(line)
    if found is None:
        return "", "", "", line
    what, peers = found["what"] or _NOTHING, found["peers"]
    if found["cls"] == "ciphertext":
        what = f"nothing without: {what}"
    return found["cls"], found["step"], "every party" if peers == everybody else peers, what
