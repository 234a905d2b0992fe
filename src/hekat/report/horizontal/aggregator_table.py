"""What the aggregator could see, as its signed ledger has it, in one table."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from hekat.report.party_views import received_rows
from hekat.report.table import Table

_SEEN_LINE = re.compile(
    r"(?P<step>[^\s:]+): (?P<how>disclosed|sealed|ciphertext|public)(?: \((?P<what>.*)\))?, from (?P<peers>.+)",
    re.DOTALL,
)


def aggregator_table(summary: Mapping[str, Any]) -> Table:
    """Everything the aggregator was sent: what it can read first; a line of another form comes last, as it stands."""
    everybody = ", ".join(sorted(party["name"] for party in summary["parties"]))
    lines = {line: _SEEN_LINE.fullmatch(line) for line in summary["aggregator_saw"]}
    read = [{**found.groupdict(), "peers": [found["peers"]]} for found in lines.values() if found is not None]
    rows = received_rows(read, everybody=everybody)
    rows += [("as its ledger says", "", "", line) for line, found in lines.items() if found is None]
    sums = summary.get("aggregator_saw_steps", [])
    spread = f" A … stands for each of {', '.join(sums)}." if sums else ""
    return Table(
        "What the aggregator was sent, from its signed ledger",
        ("how it could read it", "step", "from", "what it was"),
        tuple(rows),
        f"A * in a step stands for a number, as in every round.{spread} "
        "Beside this it sees sizes and times of messages.",
        text_columns=4,
    )
