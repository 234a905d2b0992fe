"""Which rows a run's metrics were measured on, in words: test rows, or rows that the model was trained on."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from hekat.report.number_text import format_count, format_share, pluralise

SAYS_NOTHING: Final = "which says nothing of new rows"
# Fewer repeated rows than this share are what any two samples of a population may have in common.
_LEAST_SHARE: Final = 0.01


def are_training_rows(summary: Mapping[str, Any]) -> bool:
    """Whether all rows that the metrics were measured on are rows that the model was trained on."""
    rows = summary["test_rows"]
    return bool(rows) and summary.get("test_rows_trained_on", 0) >= rows


def rows_name(summary: Mapping[str, Any]) -> str:
    """ "test" or "training", to stand before a metric."""
    return "training" if are_training_rows(summary) else "test"


def rows_in_words(summary: Mapping[str, Any], kind: str = "test", *, unknown: str = "the test rows") -> str:
    """The rows, such as "143 test rows" or "143 training rows"; `unknown` where their number is not known."""
    rows = summary["test_rows"]
    if rows is None:
        return unknown
    what = rows_name(summary) if are_training_rows(summary) else kind
    return f"{format_count(rows)} {what} {pluralise(rows, 'row')}"


def measured_note(summary: Mapping[str, Any], *, unknown: str = "the test rows") -> str:
    """One sentence to stand below a table of metrics."""
    rows = rows_in_words(summary, "common test", unknown=unknown)
    return f"Measured on {rows}, {SAYS_NOTHING}." if are_training_rows(summary) else f"Measured on {rows}."


def measured_title(summary: Mapping[str, Any], usual: str) -> str:
    """The title of a table or plot: `usual`, or what is true where the metrics are of training rows."""
    return "Each model on the training rows" if are_training_rows(summary) else usual


def training_rows_warning(summary: Mapping[str, Any]) -> str | None:
    """What to say of metrics on rows that the model was trained on; None where there are none or next to none."""
    rows, known = summary["test_rows"], summary.get("test_rows_trained_on", 0)
    if are_training_rows(summary):
        return (
            f"The {rows_in_words(summary)} are what the models were trained on: their metrics say NOTHING OF NEW ROWS. "
            "Name rows as test_data that training does not see."
        )
    if not rows or known < _LEAST_SHARE * rows:
        return None
    return (
        f"{format_count(known)} of the {rows_in_words(summary)} ({format_share(known / rows)}) are training rows too: "
        "the metrics are better than they would be on new rows."
    )
