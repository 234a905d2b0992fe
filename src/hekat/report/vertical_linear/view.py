"""How a vertical regression is shown."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

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
from hekat.report.training_course import has_diverged
from hekat.report.vertical.plots import plot_bytes
from hekat.report.vertical.results import results_html
from hekat.report.vertical.sentences import time_sentences
from hekat.report.vertical.tables import byte_table, party_table, result_table, step_table
from hekat.report.vertical_linear import findings, plots
from hekat.report.vertical_linear.brief import training_sentence, vertical_brief
from hekat.report.vertical_linear.tables import epoch_table, exactness_table, learned_table, time_table
from hekat.report.view import Finding, View

_SETTING_NAMES: Final = {
    "model": "model",
    "form": "form",
    "guest": "guest",
    "hosts": "hosts",
    "arbiter": "arbiter",
    "share_holders": "who hold the shares",
    "protection": "protection",
    "key_bits": "key size in bits",
    "epochs": "epochs, at most",
    "batch_rows": "rows per batch (0: all)",
    "learning_rate": "learning rate",
    "optimiser": "optimiser",
    "optimiser_settings": "its settings",
    "l1": "L1 penalty",
    "l2": "L2 penalty",
    "standardise": "columns standardised, each party its own",
    "hold_out": "fraction of the common rows that is measured on and not trained on",
    "calibration_rows": "training rows, at most, whose scores the guest learns to fit probabilities",
    "reweight": "weights moved to the log loss of these rows",
    "stop_when_settled": "training ends once its loss has settled",
    "mixed_columns": "columns mixed into hardly correlated ones, each party its own",
    "limit_spreads": "spreads of its mean within which a column is kept",
    "patience": "epochs without gain that end training (0: never)",
    "min_improvement": "least fall of the loss that counts as gain",
    "stop_at_loss": "stops at a loss of",
    "seed": "seed of the batches",
    "feature_bits": "bits after the point of a feature",
    "value_bits": "bits after the point of a score as it is computed",
    "classes": "classes",
    "intersection": "how common rows were found",
    "intersection_key_bits": "key size of the intersection in bits",
    "receivers": "who learns predicted scores",
    "score_bits": "bits after the point of a score as receivers learn it",
    "label_privacy": "epsilon by which labels were replaced once",
    "label_leak_accepted": "limit on equations waived in the words",
    "column_leak_accepted": "limit on what the guest learns of hosts waived in the words",
}
_ALARM: Final = (
    "Protection was set to <code>none</code>: parties sent each other residuals and gradients in the clear, which give "
    "labels and features away. Use this setting for comparisons on public data only."
)


def render_page(summary: Mapping[str, Any]) -> str:
    """The whole page. Raises HekatError where matplotlib is not installed."""
    title, course = f"Hekat run: {summary['job']}", training_sentence(summary)
    sections = [
        head_html(
            summary,
            title,
            findings.verdict(summary),
            vertical_brief(summary),
            alarm=None if findings.is_encrypted(summary) else _ALARM,
            cautions=[*([course] if course and has_diverged(summary) else []), *findings.cautions(summary)],
        ),
        section_html("Who took part", html_of_tables(party_table(summary))),
        results_html(summary, findings.compared_sentences(summary)),
        caveats_html(summary),
        section_html(
            "How training went",
            paragraphs_html(*findings.training_sentences(summary), training_sentence(summary)),
            figure_html(plots.plot_loss(summary)),
            html_of_tables(epoch_table(summary)),
        ),
        section_html(
            "Is it what exact arithmetic would give?",
            paragraphs_html(*findings.exactness_sentences(summary)),
            figure_html(plots.plot_exactness(summary)),
            html_of_tables(exactness_table(summary)),
        ),
        section_html(
            "Time",
            paragraphs_html(*time_sentences(summary)),
            figure_html(plots.plot_time(summary)),
            html_of_tables(time_table(summary), step_table(summary)),
        ),
        section_html("Bytes", figure_html(plot_bytes(summary)), html_of_tables(byte_table(summary))),
        section_html("What every party learned", html_of_tables(learned_table(summary), *seen_tables(summary))),
        settings_html(summary, _SETTING_NAMES),
        checks_html(summary),
    ]
    return page_html(title, sections)


def terminal_tables(summary: Mapping[str, Any]) -> list[Table]:
    """Results where there are any, parties, epochs, time, bytes, equations."""
    found = (result_table, party_table, epoch_table, time_table, byte_table, learned_table)
    return [table for make in found if (table := make(summary)) is not None]


def terminal_findings(summary: Mapping[str, Any]) -> list[Finding]:
    """What came out, whether it is exact, what every party could read, what to keep in mind."""
    course = training_sentence(summary)
    trained = [*findings.training_sentences(summary), *([course] if course else [])]
    out = [findings.verdict(summary), *trained, *findings.compared_sentences(summary)]
    return [
        Finding("What came out", [*out, *findings.cautions(summary)]),
        Finding("Is it what exact arithmetic would give?", findings.exactness_sentences(summary)),
        Finding("What gradients tell of labels and columns", findings.equation_sentences(summary)),
        Finding("What every party could read (from its signed ledger)", seen_lines(summary)),
        Finding("Keep in mind", list(summary["notes"])),
    ]


VERTICAL_VIEW: Final = View(
    page=render_page,
    brief=vertical_brief,
    terminal_tables=terminal_tables,
    terminal_findings=terminal_findings,
    verdict=findings.verdict,
    is_protected=findings.is_encrypted,
    caution=findings.first_caution,
    tables={
        "parties": party_table,
        "results": result_table,
        "epochs": epoch_table,
        "exactness": exactness_table,
        "time": time_table,
        "time_by_step": step_table,
        "bytes": byte_table,
        "learned": learned_table,
        "seen": seen_table,
    },
    plots={
        "loss": plots.plot_loss,
        "exactness": plots.plot_exactness,
        "time": plots.plot_time,
        "bytes": plot_bytes,
    },
    shown_tables=("results", "parties", "time", "bytes", "learned"),
    shown_plots=("loss", "time", "bytes"),
)
