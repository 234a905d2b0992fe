"""The findings of a run as short paragraphs for a terminal, beside the tables."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from hekat.report.findings import clipping_sentence, difference_sentences, exactness_sentences, verdict
from hekat.report.seen import seen_table


@dataclass(frozen=True)
class Finding:
    """A title and its lines."""

    title: str
    lines: list[str]


def terminal_findings(summary: Mapping[str, Any]) -> list[Finding]:
    """What the run found, whether its sums are right, what was clipped, what the aggregator could see."""
    return [
        Finding("What came out", [verdict(summary), *difference_sentences(summary)]),
        Finding("Is the encrypted sum right?", exactness_sentences(summary)),
        Finding("Clipped values", [clipping_sentence(summary)]),
        Finding("What the aggregator could see (from its signed ledger)", _seen_lines(summary)),
        Finding("Keep in mind", list(summary["notes"])),
    ]


def _seen_lines(summary: Mapping[str, Any]) -> list[str]:
    rows = seen_table(summary).rows
    width = max((len(row[1]) for row in rows), default=0)
    return [f"{step:<{width}}  {how}: {what}, from {peers}" for how, step, peers, what in rows]
