"""Which models the owner was given, and which of its rows their metrics are of, in words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from hekat.report.measured_rows import SAYS_NOTHING
from hekat.report.number_text import format_count, pluralise

_KINDS: Final = {"test data": "test", "held-out rows": "held-out", "training rows": "training"}


def knows_owner(summary: Mapping[str, Any]) -> bool:
    """Whether the owner's part of the run is known here, as it is not to another role that played alone."""
    return summary["settings"]["owner"] in {party["name"] for party in summary["parties"]}


def models_in_words(summary: Mapping[str, Any]) -> str:
    """Such as "the final model", or "3 models, the last one final"."""
    count = len(summary["opened"])
    if not knows_owner(summary) and summary["settings"].get("report_every"):
        return "models on the way, and the final one"
    return "the final model" if count < 2 else f"{format_count(count)} models, the last one final"


def measured_words(summary: Mapping[str, Any]) -> str:
    """Such as "149 test rows", for a summary with metrics."""
    kind, count = summary["measured_on"], summary["test_rows"] or 0
    rows = f"{format_count(count)} {_KINDS.get(kind, 'test')} {pluralise(count, 'row')}"
    return f"{rows}, {SAYS_NOTHING}" if kind == "training rows" else rows
