"""How a training of a split network is shown."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from hekat.report.page import svg
from hekat.report.page.loss_plot import draw_losses
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
from hekat.report.page.role_bars import draw_role_seconds
from hekat.report.party_views import seen_lines, seen_table, seen_tables
from hekat.report.table import Table
from hekat.report.vertical.plots import PART_COLOURS, plot_bytes
from hekat.report.vertical.results import results_html
from hekat.report.vertical.sentences import time_sentences
from hekat.report.vertical.tables import byte_table, party_table, result_table, step_table
from hekat.report.vertical_network import findings
from hekat.report.vertical_network.tables import PARTS, epoch_table, learned_table, time_table
from hekat.report.view import Finding, View

_SETTING_NAMES: Final = {
    "task": "task",
    "guest": "guest",
    "hosts": "hosts",
    "form": "form",
    "protection": "protection",
    "host_bottom": "what a host puts before the interactive layer",
    "units": "units of the interactive layer",
    "guest_width": "inputs of the interactive layer at the guest",
    "host_width": "inputs of the interactive layer at a host",
    "host_widths": "the same at single hosts",
    "bottom_hidden": "hidden layers of bottoms that train",
    "top_hidden": "hidden layers of the top",
    "activation": "activation",
    "bottoms": "bottoms that are code of sites",
    "top": "the top, code of the guest's site",
    "epochs": "epochs, at most",
    "batch_rows": "rows per batch",
    "learning_rate": "learning rate of bottoms and top (Adam)",
    "shared_optimiser": "how the shared layer moves",
    "shared_rate": "learning rate of the shared layer, before it is taken in units",
    "momentum": "its momentum",
    "l2": "L2 penalty of the interactive layer",
    "standardise": "columns standardised, each party its own",
    "limit_spreads": "spreads of its mean within which a column is kept (0: no limit)",
    "validation_fraction": "fraction of the common rows held out for stopping",
    "patience": "epochs without gain that end training (0: never)",
    "min_improvement": "least fall of the loss that counts as gain",
    "stop_at_loss": "stops at a loss of",
    "seed": "seed of the batches",
    "label_privacy": "epsilon by which labels were replaced once",
    "labels_accepted": "what gradients tell of labels waived in the words",
    "slopes_accepted": "what slopes tell hosts of columns waived in the words",
    "rotation_accepted": "what the guest learns of hosts waived in the words",
    "hold_out": "fraction of the common rows that is measured on and not trained on",
    "classes": "classes",
    "intersection": "how common rows were found",
    "intersection_key_bits": "key size of the intersection in bits",
    "receivers": "who learns predicted scores",
}
_ALARM: Final = (
    "Protection was set to <code>none</code>: features, gradients and weights were sent in the clear, which gives "
    "labels and columns away. Use this setting for comparisons on public data only."
)
_COLOURS: Final = {**PART_COLOURS, "products": svg.SERIES[1]}


def render_page(summary: Mapping[str, Any]) -> str:
    """The whole page. Raises HekatError where matplotlib is not installed."""
    title = f"Hekat run: {summary['job']}"
    sections = [
        head_html(
            summary,
            title,
            findings.verdict(summary),
            findings.network_brief(summary),
            alarm=None if findings.is_encrypted(summary) else _ALARM,
            cautions=findings.cautions(summary),
        ),
        section_html("Who took part", html_of_tables(party_table(summary))),
        results_html(summary, findings.compared_sentences(summary)),
        caveats_html(summary),
        section_html("Who learned what", html_of_tables(learned_table(summary))),
        section_html(
            "How training went",
            paragraphs_html(*findings.training_sentences(summary)),
            figure_html(plot_loss(summary)),
            html_of_tables(epoch_table(summary)),
        ),
        section_html(
            "Time",
            paragraphs_html(*time_sentences(summary)),
            figure_html(plot_time(summary)),
            html_of_tables(time_table(summary), step_table(summary)),
        ),
        section_html("Bytes", figure_html(plot_bytes(summary)), html_of_tables(byte_table(summary))),
        section_html("What every party could read", html_of_tables(*seen_tables(summary))),
        settings_html(summary, _SETTING_NAMES),
        checks_html(summary),
    ]
    return page_html(title, sections)


def plot_loss(summary: Mapping[str, Any]) -> str | None:
    """The loss by epoch, of training rows and of rows held out for stopping."""
    of_classes = findings.loss_of_classes(summary["settings"])
    beside = "the same network on the joined rows"
    return draw_losses(summary, summary["epochs"], "epoch", beside=beside, of_classes=of_classes)


def plot_time(summary: Mapping[str, Any]) -> str | None:
    """Seconds of each role as a bar of parts, waiting among them."""
    return draw_role_seconds(summary["seconds_by_part"], PARTS, name="network-time", colours=_COLOURS)


def terminal_tables(summary: Mapping[str, Any]) -> list[Table]:
    """Results where there are any, parties, who learned what, epochs, time, bytes."""
    found = (result_table, party_table, learned_table, epoch_table, time_table, byte_table)
    return [table for make in found if (table := make(summary)) is not None]


def terminal_findings(summary: Mapping[str, Any]) -> list[Finding]:
    """What came out, what every party could read, what to keep in mind."""
    out = [
        findings.verdict(summary),
        *findings.training_sentences(summary),
        *findings.compared_sentences(summary),
        *findings.cautions(summary),
    ]
    return [
        Finding("What came out", out),
        Finding("What every party could read (from its signed ledger)", seen_lines(summary)),
        Finding("Keep in mind", list(summary["notes"])),
    ]


NETWORK_VIEW: Final = View(
    page=render_page,
    brief=findings.network_brief,
    terminal_tables=terminal_tables,
    terminal_findings=terminal_findings,
    verdict=findings.verdict,
    is_protected=findings.is_encrypted,
    caution=findings.first_caution,
    tables={
        "parties": party_table,
        "results": result_table,
        "learned": learned_table,
        "epochs": epoch_table,
        "time": time_table,
        "time_by_step": step_table,
        "bytes": byte_table,
        "seen": seen_table,
    },
    plots={"loss": plot_loss, "time": plot_time, "bytes": plot_bytes},
    shown_tables=("results", "parties", "learned", "time", "bytes"),
    shown_plots=("loss", "time", "bytes"),
)
