"""How a training on an encrypted model is shown."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from hekat.report.encrypted_model import findings, plots, tables
from hekat.report.encrypted_model.measured import knows_owner
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
from hekat.report.party_views import seen_lines, seen_table, seen_tables
from hekat.report.table import Table
from hekat.report.view import Finding, View

_SETTING_NAMES: Final = {
    "model": "model",
    "hosts": "hosts",
    "arbiter": "arbiter, who holds the key",
    "aggregator": "aggregator, who adds ciphertexts",
    "owner": "owner, who gets the model",
    "protection": "protection",
    "key_bits": "key size in bits",
    "rounds": "rounds",
    "local_epochs": "passes over a host's rows in a round",
    "batch_rows": "rows per batch (0: all)",
    "learning_rate": "learning rate",
    "optimiser": "optimiser",
    "momentum": "momentum",
    "l2": "L2 penalty",
    "standardise": "columns standardised",
    "report_every": "rounds after which the owner is given a model (0: the last one alone)",
    "hold_out": "share of the owner's rows held out",
    "seed": "seed of the batches",
    "classes": "classes",
}
_ALARM: Final = (
    "Protection was set to <code>none</code>: hosts read the model, and the aggregator saw each host's part of every "
    "step. Use this setting for comparisons on public data only."
)


def render_page(summary: Mapping[str, Any]) -> str:
    """The whole page. Raises HekatError where matplotlib is not installed."""
    title = f"Hekat run: {summary['job']}"
    sections = [
        head_html(
            summary,
            title,
            findings.verdict(summary),
            findings.encrypted_model_brief(summary),
            alarm=None if findings.is_encrypted(summary) else _ALARM,
            cautions=findings.cautions(summary),
        ),
        section_html("Who took part", html_of_tables(tables.party_table(summary))),
        section_html("Who learns what", html_of_tables(tables.learns_table(summary))),
        _results(summary),
        caveats_html(summary),
        section_html(
            "Time",
            paragraphs_html(findings.time_sentence(summary), *findings.training_sentences(summary)),
            figure_html(plots.plot_time(summary)),
            html_of_tables(tables.time_table(summary)),
        ),
        section_html(
            "Bytes",
            paragraphs_html(findings.byte_sentence(summary)),
            figure_html(plots.plot_bytes(summary)),
            html_of_tables(tables.byte_table(summary)),
        ),
        section_html("What every party learned, by its ledger", html_of_tables(*seen_tables(summary))),
        settings_html(summary, _SETTING_NAMES),
        checks_html(summary),
    ]
    return page_html(title, sections)


def _results(summary: Mapping[str, Any]) -> str:
    table = tables.result_table(summary)
    owner = summary["settings"]["owner"]
    why = "no rows to measure it on" if knows_owner(summary) else "what it measured is at its site"
    nothing = None if table else f"No metric is known here: {owner} alone has the model, and {why}."
    return section_html(
        "Results",
        html_of_tables(table),
        paragraphs_html(nothing),
        figure_html(plots.plot_loss(summary)),
        html_of_tables(tables.opened_table(summary)),
    )


def terminal_tables(summary: Mapping[str, Any]) -> list[Table]:
    """Results where there are any, roles, who learns what, models on the way, time, bytes."""
    found = (
        tables.result_table(summary),
        tables.party_table(summary),
        tables.learns_table(summary),
        tables.opened_table(summary),
        tables.time_table(summary),
        tables.byte_table(summary),
    )
    return [table for table in found if table is not None]


def terminal_findings(summary: Mapping[str, Any]) -> list[Finding]:
    """What came out, what every party could read, what to keep in mind."""
    told = [findings.verdict(summary), findings.learned_sentence(summary), *findings.training_sentences(summary)]
    return [
        Finding("What came out", [*told, *findings.cautions(summary)]),
        Finding("What every party could read (from its signed ledger)", seen_lines(summary)),
        Finding("Keep in mind", list(summary["notes"])),
    ]


ENCRYPTED_MODEL_VIEW: Final = View(
    page=render_page,
    brief=findings.encrypted_model_brief,
    terminal_tables=terminal_tables,
    terminal_findings=terminal_findings,
    verdict=findings.verdict,
    is_protected=findings.is_encrypted,
    caution=findings.first_caution,
    tables={
        "parties": tables.party_table,
        "learns": tables.learns_table,
        "results": tables.result_table,
        "opened": tables.opened_table,
        "time": tables.time_table,
        "bytes": tables.byte_table,
        "seen": seen_table,
    },
    plots={"loss": plots.plot_loss, "time": plots.plot_time, "bytes": plots.plot_bytes},
    shown_tables=("results", "parties", "learns", "time", "bytes"),
    shown_plots=("loss", "time", "bytes"),
)
