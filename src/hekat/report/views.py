"""Which view shows a summary: that of its protocol."""

from __future__ import annotations

from collections.abc import Mapping

from hekat.report.brief import Brief
from hekat.report.horizontal.view import HORIZONTAL_VIEW
from hekat.report.psi.view import PSI_VIEW
from hekat.report.summary import protocol_of
from hekat.report.table import Table
from hekat.report.vertical_linear.view import VERTICAL_VIEW
from hekat.report.view import Facts, Finding, View

_VIEWS: Mapping[str, View] = {"horizontal": HORIZONTAL_VIEW, "vertical_linear": VERTICAL_VIEW, "psi": PSI_VIEW}


def view_of(summary: Facts) -> View:
    """The view of the summary's protocol."""
    return _VIEWS[protocol_of(summary)]


def render_page(summary: Facts) -> str:
    """The whole page of a run. Raises HekatError where matplotlib is not installed."""
    return view_of(summary).page(summary)


def brief_of(summary: Facts) -> Brief:
    """What a run prints unasked."""
    return view_of(summary).brief(summary)


def terminal_tables(summary: Facts) -> list[Table]:
    """What a terminal shows as tables."""
    return view_of(summary).terminal_tables(summary)


def terminal_findings(summary: Facts) -> list[Finding]:
    """What a terminal shows as paragraphs."""
    return view_of(summary).terminal_findings(summary)


def verdict(summary: Facts) -> str:
    """One sentence: who did what together, and what came out."""
    return view_of(summary).verdict(summary)
