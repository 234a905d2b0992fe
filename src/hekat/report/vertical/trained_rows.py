"""Of the rows that all parties have, how many were trained on and how many held out to measure on."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hekat.report.number_text import format_count


def held_out_count(summary: Mapping[str, Any]) -> int:
    """How many of the common rows were kept out of training; 0 where none were, or where nobody measured on them."""
    return summary["test_rows"] or 0 if summary["settings"].get("hold_out") else 0


def trained_count(summary: Mapping[str, Any]) -> int:
    """How many rows the model was trained on."""
    return int(summary["intersection"]["common"]) - held_out_count(summary)


def trained_in_words(summary: Mapping[str, Any]) -> str:
    """Such as "455 of 569 common rows", or "569 common rows" where all were trained on."""
    common = f"{format_count(summary['intersection']['common'])} common rows"
    return f"{format_count(trained_count(summary))} of {common}" if held_out_count(summary) else common


def split_in_words(summary: Mapping[str, Any]) -> str:
    """What became of the common rows, such as " 455 were trained on, 114 held out to measure on."; "" where all were
    trained on."""
    held_out = held_out_count(summary)
    if not held_out:
        return ""
    return f" {format_count(trained_count(summary))} were trained on, {format_count(held_out)} held out to measure on."
