"""How boosted trees across rows are shown."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from hekat.report.horizontal.aggregator_table import aggregator_table
from hekat.report.horizontal.by_role import byte_step_table
from hekat.report.horizontal.dropouts import dropout_sentences
from hekat.report.horizontal.plots_by_role import plot_role_bytes, plot_role_time
from hekat.report.horizontal.tables import party_table, result_table, role_byte_table, role_time_table, time_table
from hekat.report.horizontal.terminal import aggregator_lines
from hekat.report.horizontal.validation_tables import validation_table
from hekat.report.horizontal_trees import findings
from hekat.report.page.html_table import table_html
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
from hekat.report.table import Table, metric_names
from hekat.report.trees.plots import draw_trees, plot_first_tree, plot_importance, plot_loss
from hekat.report.trees.setting_names import TRAINING_NAMES
from hekat.report.trees.tables import importance_table, iteration_table
from hekat.report.view import Finding, View

_SETTING_NAMES: Final = {
    "task": "task",
    "protection": "protection",
    "key_bits": "key size in bits",
    "opening": "who opens sums",
    "openers": "by name",
    "openers_needed": "members that it takes",
    "security": "security of its parameter sets",
    "check_sum": "sums are checked against the uploads",
    **TRAINING_NAMES,
    "min_samples_leaf": "rows of a leaf, at least",
    "hold_out": "share of rows held out",
    "privacy_noise": "noise of a sum, by what a row moves it",
    "privacy_delta": "delta of differential privacy",
    "privacy_neighbours": "what it compares",
    "privacy_colluders": "parties that it may speak of together",
    "min_parties": "least parties in a sum",
    "weight_max": "public bound on a party's rows",
    "aggregator": "aggregator",
    "leader": "party that hands out what all share",
    "classes": "classes",
}
_ALARM: Final = (
    "Protection was set to <code>none</code>: the aggregator saw every party's histograms in the clear. Use this "
    "setting for comparisons on public data only."
)


def render_page(summary: Mapping[str, Any]) -> str:
    """The whole page. Raises HekatError where matplotlib is not installed."""
    title = f"Hekat run: {summary['job']}"
    sections = [
        head_html(
            summary,
            title,
            findings.verdict(summary),
            findings.row_trees_brief(summary),
            alarm=None if findings.is_encrypted(summary) else _ALARM,
            cautions=findings.cautions(summary),
        ),
        section_html("Who took part", table_html(party_table(summary)), paragraphs_html(*dropout_sentences(summary))),
        section_html("Results", table_html(result_table(summary)), table_html(validation_table(summary))),
        caveats_html(summary),
        section_html(
            "What columns do for the trees",
            figure_html(plot_importance(summary)),
            table_html(importance_table(summary)),
        ),
        section_html(
            "The first trees",
            paragraphs_html(findings.drawn_sentence(summary)),
            *(figure_html(drawn) for drawn in draw_trees(summary)),
        ),
        section_html(
            "How training went",
            paragraphs_html(*findings.training_sentences(summary)),
            figure_html(plot_loss(summary)),
            html_of_tables(iteration_table(summary)),
        ),
        section_html(
            "Time",
            paragraphs_html(findings.time_sentence(summary)),
            figure_html(plot_role_time(summary)),
            html_of_tables(time_table(summary), role_time_table(summary)),
        ),
        section_html(
            "Bytes",
            paragraphs_html(findings.byte_sentence(summary)),
            figure_html(plot_role_bytes(summary)),
            html_of_tables(role_byte_table(summary), byte_step_table(summary)),
        ),
        section_html("What the aggregator could see", table_html(aggregator_table(summary))),
        settings_html(summary, _SETTING_NAMES),
        checks_html(summary),
    ]
    return page_html(title, sections)


def terminal_tables(summary: Mapping[str, Any]) -> list[Table]:
    """Results where there are any, parties, importance, iterations, time, bytes."""
    results = result_table(summary) if metric_names(summary) else None
    found = (
        results,
        validation_table(summary),
        party_table(summary),
        importance_table(summary),
        iteration_table(summary),
        time_table(summary),
        role_byte_table(summary),
        byte_step_table(summary),
    )
    return [table for table in found if table is not None]


def terminal_findings(summary: Mapping[str, Any]) -> list[Finding]:
    """What came out, who was lost, what the aggregator could see, what to keep in mind."""
    lost = dropout_sentences(summary)
    told = [findings.verdict(summary), *findings.training_sentences(summary), *findings.cautions(summary)]
    return [
        Finding("What came out", told),
        *([Finding("Lost on the way", lost)] if lost else []),
        Finding("What the aggregator could see (from its signed ledger)", aggregator_lines(summary)),
        Finding("Keep in mind", list(summary["notes"])),
    ]


ROW_TREES_VIEW: Final = View(
    page=render_page,
    brief=findings.row_trees_brief,
    terminal_tables=terminal_tables,
    terminal_findings=terminal_findings,
    verdict=findings.verdict,
    is_protected=findings.is_encrypted,
    caution=findings.first_caution,
    tables={
        "parties": party_table,
        "results": result_table,
        "validation": validation_table,
        "importance": importance_table,
        "iterations": iteration_table,
        "time": time_table,
        "time_by_role": role_time_table,
        "bytes_by_role": role_byte_table,
        "bytes_by_step": byte_step_table,
        "aggregator_saw": aggregator_table,
    },
    plots={
        "loss": plot_loss,
        "importance": plot_importance,
        "tree": plot_first_tree,
        "time_by_role": plot_role_time,
        "bytes_by_role": plot_role_bytes,
    },
    shown_tables=("results", "validation", "importance", "bytes_by_role"),
    shown_plots=("importance", "loss", "tree", "time_by_role"),
)
