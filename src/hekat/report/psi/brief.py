"""A set intersection in short: how many ids are common, what is protected from whom, time and bytes, warnings."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hekat.report.brief import Brief, place_sentence, sent_sentence, unusual_caveats
from hekat.report.number_text import format_count
from hekat.report.psi.tables import time_sentence, verdict


def psi_brief(summary: Mapping[str, Any]) -> Brief:
    """What a set intersection prints unasked."""
    facts = (
        ("result", verdict(summary)),
        ("protected", f"{_protected(summary)}{place_sentence(summary['notes'])}"),
        ("time", time_sentence(summary)),
        ("bytes", sent_sentence(summary)),
    )
    return Brief(None, facts, caveats=unusual_caveats(summary["notes"]))


def _protected(summary: Mapping[str, Any]) -> str:
    what = "Every id" if summary["settings"]["cardinality_only"] else "Every id that is not common"
    sizes = ", ".join(f"{party['name']} {format_count(party['padded'])}" for party in summary["parties"])
    return f"{what}, from the other parties; they see sizes rounded up ({sizes})."
