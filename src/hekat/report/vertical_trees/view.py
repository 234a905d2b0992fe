"""How a training of trees across columns is shown."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from hekat.report.how_played import clock_sentence
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
from hekat.report.part_table import part_table
from hekat.report.party_views import seen_lines, seen_table, seen_tables
from hekat.report.table import Table
from hekat.report.trees.plots import draw_trees, plot_first_tree, plot_importance, plot_loss
from hekat.report.trees.setting_names import TRAINING_NAMES
from hekat.report.trees.tables import importance_table, iteration_table
from hekat.report.vertical.plots import PART_COLOURS, plot_bytes
from hekat.report.vertical.results import results_html
from hekat.report.vertical.sentences import time_sentences
from hekat.report.vertical.tables import byte_table, party_table, result_table, step_table
from hekat.report.vertical_trees import findings
from hekat.report.view import Finding, View

_SETTING_NAMES: Final = {
    "task": "task",
    "guest": "guest",
    "hosts": "hosts",
    "protection": "protection",
    "key_bits": "key size in bits",
    "hide_partition": "the rows of a node hidden from hosts",
    "label_party_first_trees": "first iterations on the guest's columns alone",
    "max_level_sums": "sums of a level that the guest keeps room for, at most",
    "label_privacy": "epsilon by which labels were replaced once",
    "bin_leak_accepted": "limit on what sums tell of bins waived in the words",
    **TRAINING_NAMES,
    "min_samples_leaf": "rows of a leaf, and of a summed bin, at least",
    "hold_out": "fraction of the common rows that is measured on and not trained on",
    "classes": "classes",
    "intersection": "how common rows were found",
    "intersection_key_bits": "key size of the intersection in bits",
    "receivers": "who learns predicted scores",
}
_ALARM: Final = (
    "Protection was set to <code>none</code>: the guest sent gradients in the clear, which give labels away. Use this "
    "setting for comparisons on public data only."
)
PARTS: Final = {
    "intersection": "finding the common rows",
    "keys": "making keys, once",
    "encrypt": "encrypting gradients",
    "sums": "adding up encrypted gradients by bin",
    "decrypt": "opening sums",
    "plain": "ordinary arithmetic: bins, splits, leaves",
    "others": "messages, files, checks",
    "idle": "waiting for the others, who take turns",
}


def render_page(summary: Mapping[str, Any]) -> str:
    """The whole page. Raises HekatError where matplotlib is not installed."""
    title = f"Hekat run: {summary['job']}"
    sections = [
        head_html(
            summary,
            title,
            findings.verdict(summary),
            findings.trees_brief(summary),
            alarm=None if findings.is_encrypted(summary) else _ALARM,
            cautions=findings.cautions(summary),
        ),
        section_html("Who took part", html_of_tables(party_table(summary))),
        results_html(summary, findings.compared_sentences(summary)),
        caveats_html(summary),
        section_html(
            "What columns do for the trees",
            paragraphs_html(*findings.importance_sentences(summary)),
            figure_html(plot_importance(summary)),
            html_of_tables(importance_table(summary)),
        ),
        section_html(
            "The first trees",
            paragraphs_html(
                "A threshold is known to the owner of its column alone; the rows of a node are counted in training."
                if summary["trees"]
                else "The guest alone has the trees."
            ),
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
            paragraphs_html(*time_sentences(summary)),
            figure_html(plot_time(summary)),
            html_of_tables(time_table(summary), step_table(summary)),
        ),
        section_html("Bytes", figure_html(plot_bytes(summary)), html_of_tables(byte_table(summary))),
        section_html("What every party learned", html_of_tables(*seen_tables(summary))),
        settings_html(summary, _SETTING_NAMES),
        checks_html(summary),
    ]
    return page_html(title, sections)


def time_table(summary: Mapping[str, Any]) -> Table:
    """Seconds of every role by part, waiting among them."""
    return part_table(summary["seconds_by_part"], PARTS, clock_sentence(summary))


def plot_time(summary: Mapping[str, Any]) -> str | None:
    """Seconds of each role as a bar of parts, waiting among them."""
    return draw_role_seconds(summary["seconds_by_part"], PARTS, name="trees-time", colours=PART_COLOURS)


def terminal_tables(summary: Mapping[str, Any]) -> list[Table]:
    """Results where there are any, parties, importance, iterations, time, bytes."""
    found = (result_table, party_table, importance_table, iteration_table, time_table, byte_table)
    return [table for make in found if (table := make(summary)) is not None]


def terminal_findings(summary: Mapping[str, Any]) -> list[Finding]:
    """What came out, what every party could read, what to keep in mind."""
    out = [
        findings.verdict(summary),
        *findings.training_sentences(summary),
        *findings.importance_sentences(summary),
        *findings.compared_sentences(summary),
        *findings.cautions(summary),
    ]
    return [
        Finding("What came out", out),
        Finding("What every party could read (from its signed ledger)", seen_lines(summary)),
        Finding("Keep in mind", list(summary["notes"])),
    ]


TREES_VIEW: Final = View(
    page=render_page,
    brief=findings.trees_brief,
    terminal_tables=terminal_tables,
    terminal_findings=terminal_findings,
    verdict=findings.verdict,
    is_protected=findings.is_encrypted,
    caution=findings.first_caution,
    tables={
        "parties": party_table,
        "results": result_table,
        "importance": importance_table,
        "iterations": iteration_table,
        "time": time_table,
        "time_by_step": step_table,
        "bytes": byte_table,
        "seen": seen_table,
    },
    plots={
        "loss": plot_loss,
        "importance": plot_importance,
        "tree": plot_first_tree,
        "time": plot_time,
        "bytes": plot_bytes,
    },
    shown_tables=("results", "parties", "importance", "time", "bytes"),
    shown_plots=("importance", "loss", "tree", "time"),
)
