"""What the aggregator could see, as its signed ledger has it, in one table."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from hekat.report.tables import Table

_SEEN_LINE = re.compile(
    r"(?P<step>[^\s:]+): (?P<cls>disclosed|sealed|ciphertext|public)(?: \((?P<what>.*)\))?, from (?P<peers>.+)",
    re.DOTALL,
)
_SEEN_ORDER = ("disclosed", "ciphertext", "sealed", "public", "")
_SEEN_CLASSES = {
    "disclosed": "readable to it",
    "ciphertext": "encrypted, cannot open it",
    "sealed": "sealed to it: it alone opens",
    "public": "public",
    "": "as its ledger says",
}


def seen_table(summary: Mapping[str, Any]) -> Table:
    """Everything the aggregator was sent: what it can read first."""
    everybody = ", ".join(sorted(party["name"] for party in summary["parties"]))
    rows = [_seen_row(line, everybody) for line in summary["aggregator_saw"]]
    rows.sort(key=lambda row: _SEEN_ORDER.index(row[0]))
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


def _seen_row(line: str, everybody: str) -> tuple[str, str, str, str]:
    """(class, step, from whom, text) of a line of the summary; one of another form is kept whole, without a class."""
    found = _SEEN_LINE.fullmatch(line)
    if found is None:
        return "", "", "", line
    what, peers = found["what"] or "nothing secret", found["peers"]
    if found["cls"] == "ciphertext":
        what = f"nothing without: {what}"
    return found["cls"], found["step"], "every party" if peers == everybody else peers, what
