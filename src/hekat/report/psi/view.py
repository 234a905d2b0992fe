"""How a set intersection is shown."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from hekat.report.page import svg
from hekat.report.page.parts import (
    caveats_html,
    checks_html,
    figure_html,
    head_html,
    html_of_tables,
    page_html,
    paragraphs_html,
    section_html,
    settings_html,
)
from hekat.report.page.role_bars import draw_role_bytes, draw_role_seconds
from hekat.report.party_views import seen_lines, seen_table, seen_tables
from hekat.report.psi.brief import psi_brief
from hekat.report.psi.tables import (
    KINDS_OF_TIME,
    byte_table,
    kind_seconds,
    party_table,
    size_sentences,
    time_sentence,
    time_table,
    verdict,
)
from hekat.report.table import Table
from hekat.report.view import Finding, View

_SETTING_NAMES: Final = {
    "guest": "guest",
    "hosts": "hosts",
    "kind": "kind",
    "key_bits": "key size in bits",
    "learns": "who learns the result",
    "cardinality_only": "only how many are common",
}
_TIME_COLOURS: Final = {
    **dict(zip(KINDS_OF_TIME, svg.SERIES, strict=False)),
    "idle": svg.RULE,
}
_WAYS: Final = {"sent": "sent", "received": "received"}


def plot_time(summary: Mapping[str, Any]) -> str | None:
    """Seconds of each role as a bar of kinds of parts, waiting among them."""
    return draw_role_seconds(kind_seconds(summary), KINDS_OF_TIME, name="psi-time", colours=_TIME_COLOURS)


def plot_bytes(summary: Mapping[str, Any]) -> str | None:
    """Sealed bytes of each role."""
    return draw_role_bytes(summary["bytes"]["by_role"], _WAYS, name="psi-bytes")


def render_page(summary: Mapping[str, Any]) -> str:
    """The whole page. Raises HekatError where matplotlib is not installed."""
    title = f"Hekat run: {summary['job']}"
    sections = [
        head_html(summary, title, verdict(summary), psi_brief(summary), cautions=()),
        section_html(
            "Who took part",
            html_of_tables(party_table(summary)),
            paragraphs_html(*size_sentences(summary)),
        ),
        caveats_html(summary),
        section_html(
            "Time",
            paragraphs_html(time_sentence(summary)),
            figure_html(plot_time(summary)),
            html_of_tables(time_table(summary)),
        ),
        section_html("Bytes", figure_html(plot_bytes(summary)), html_of_tables(byte_table(summary))),
        section_html("What every party learned", html_of_tables(*seen_tables(summary))),
        settings_html(summary, _SETTING_NAMES),
        checks_html(summary),
    ]
    return page_html(title, sections)


def terminal_tables(summary: Mapping[str, Any]) -> list[Table]:
    """Parties, time, bytes."""
    return [party_table(summary), time_table(summary), byte_table(summary)]


def terminal_findings(summary: Mapping[str, Any]) -> list[Finding]:
    """What came out, what every party could read, what to keep in mind."""
    return [
        Finding("What came out", [verdict(summary), time_sentence(summary)]),
        Finding("What every party could read (from its signed ledger)", seen_lines(summary)),
        Finding("Keep in mind", list(summary["notes"])),
    ]


PSI_VIEW: Final = View(
    page=render_page,
    brief=psi_brief,
    terminal_tables=terminal_tables,
    terminal_findings=terminal_findings,
    verdict=verdict,
    is_protected=lambda summary: True,
    caution=lambda summary: None,
    tables={"parties": party_table, "time": time_table, "bytes": byte_table, "seen": seen_table},
    plots={"time": plot_time, "bytes": plot_bytes},
    shown_tables=("parties", "time", "bytes"),
    shown_plots=("time", "bytes"),
)
