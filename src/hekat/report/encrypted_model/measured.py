"""Which models the owner was given, and which of its rows their metrics are of, in words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from hekat.report.measured_rows import SAYS_NOTHING
from hekat.report.number_text import format_count, pluralise

_KINDS: Final = {"test data": "test", "held-out rows": "held-out", "training rows": "training"}


def models_in_words(summary: Mapping[str, Any]) -> str:
    """Such as "the final model", or "3 models, the last one final"."""
    count = len(summary["opened"])
    return "the final model" if count < 2 else f"{format_count(count)} models, the last one final"


def measured_words(summary: Mapping[str, Any]) -> str:
    """Such as "149 test rows", for a summary with metrics."""
    kind, count = summary["measured_on"], summary["test_rows"] or 0
    rows = f"{format_count(count)} {_KINDS.get(kind, 'test')} {pluralise(count, 'row')}"
    return f"{rows}, {SAYS_NOTHING}" if kind == "training rows" else rows
