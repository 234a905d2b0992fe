"""Puts one horizontal run on one HTML page."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hekat.report.horizontal import findings, plots
from hekat.report.horizontal.aggregator_table import aggregator_table
from hekat.report.horizontal.brief import horizontal_brief, training_sentence, training_warning
from hekat.report.horizontal.by_role import byte_step_table
from hekat.report.horizontal.byte_text import byte_sentences, byte_table
from hekat.report.horizontal.clipping import clip_table
from hekat.report.horizontal.dropouts import dropout_headline, dropout_sentences, sample_sentences
from hekat.report.horizontal.plot_clipping import plot_clipping
from hekat.report.horizontal.plot_precision import plot_precision
from hekat.report.horizontal.plots_by_role import plot_role_bytes, plot_role_time
from hekat.report.horizontal.precision_sweep import precision_sentence, precision_table
from hekat.report.horizontal.privacy.plot import plot_privacy
from hekat.report.horizontal.privacy.words import budget_sentence, privacy_sentence, privacy_table
from hekat.report.horizontal.tables import party_table, result_table, role_byte_table, role_time_table, time_table
from hekat.report.horizontal.validation_tables import (
    fold_sentence,
    fold_table,
    fold_warning,
    validation_round_table,
    validation_sentence,
    validation_table,
)
from hekat.report.measured_rows import training_rows_warning
from hekat.report.page.html_table import table_html
from hekat.report.page.parts import (
    caveats_html,
    checks_html,
    figure_html,
    head_html,
    page_html,
    paragraphs_html,
    section_html,
    settings_html,
)
from hekat.report.table import metric_names
from hekat.report.training_course import has_diverged

_SETTING_NAMES = {
    "algorithm": "algorithm",
    "rounds": "rounds, at most",
    "local_epochs": "passes over a party's rows per round",
    "batch_rows": "rows per batch (0: all)",
    "learning_rate": "learning rate",
    "optimiser": "server optimiser",
    "optimiser_settings": "its settings",
    "proximal_mu": "proximal mu",
    "error_feedback": "error feedback",
    "keep": "share of the values that is sent",
    "keep_by": "which ones, agreed by",
    "stop_at_loss": "stops at a loss of",
    "standardise": "columns standardised",
    "model": "model",
    "hidden": "hidden layers",
    "l2": "L2 penalty",
    "parameters": "tensors that are trained",
    "value_bits": "bits per value",
    "layout": "packing layout",
    "rounding": "rounding",
    "clipping": "clipping bound",
    "protection": "protection",
    "key_bits": "key size in bits",
    "opening": "who opens sums",
    "openers": "by name",
    "openers_needed": "members that it takes",
    "parameter_set": "parameter set",
    "ring": "its ring",
    "security": "its security",
    "check_sum": "sums are checked against the uploads",
    "masked": "part of an update that is masked",
    "map": "how sensitive values were found",
    "map_rows": "rows of a party's map, at most",
    "always": "tensors masked always",
    "never": "tensors masked never",
    "groups": "values masked together",
    "expose_embeddings": "embeddings may go in the clear",
    "refresh": "rounds between masks",
    "hold_out": "share of rows held out",
    "folds": "folds of the cross-validation",
    "validate_every": "rounds between validations",
    "score_bins": "bins of scores for the AUC",
    "participation": "part of the parties that trains in a round",
    "sample_size": "parties that train in a round",
    "min_parties": "least updates in a sum",
    "weight_max": "public bound on a party's rows",
    "aggregator": "aggregator",
    "leader": "party that hands out what all share",
    "classes": "classes",
}


def render_page(summary: Mapping[str, Any]) -> str:
    """The whole page. Raises HekatError where matplotlib is not installed."""
    title = f"Hekat run: {summary['job']}"
    sections = [
        _head(summary, title),
        section_html(
            "Who took part",
            table_html(party_table(summary)),
            paragraphs_html(*sample_sentences(summary), *dropout_sentences(summary)),
        ),
        section_html(
            "Results",
            table_html(result_table(summary) if metric_names(summary) or not fold_sentence(summary) else None),
            paragraphs_html(*findings.difference_sentences(summary), findings.granularity_sentence(summary)),
            figure_html(plots.plot_results(summary)),
            table_html(validation_table(summary)),
            paragraphs_html(fold_sentence(summary), fold_warning(summary)),
            table_html(fold_table(summary)),
        ),
        caveats_html(summary),
        _bits(summary),
        section_html(
            "How training went",
            paragraphs_html(findings.round_sentence(summary), training_sentence(summary), validation_sentence(summary)),
            figure_html(plots.plot_convergence(summary)),
            table_html(validation_round_table(summary), small=True),
        ),
        _privacy(summary),
        _exactness(summary),
        section_html(
            "Time",
            paragraphs_html(*findings.time_sentences(summary)),
            figure_html(plots.plot_time(summary)),
            table_html(time_table(summary)),
            figure_html(plot_role_time(summary)),
            table_html(role_time_table(summary), small=True),
        ),
        section_html(
            "Bytes",
            paragraphs_html(*byte_sentences(summary)),
            figure_html(plots.plot_bytes(summary)),
            table_html(byte_table(summary)),
            figure_html(plot_role_bytes(summary)),
            table_html(role_byte_table(summary)),
            table_html(byte_step_table(summary)),
        ),
        section_html(
            "Clipped values",
            paragraphs_html(findings.clipping_sentence(summary)),
            figure_html(plot_clipping(summary)),
            table_html(clip_table(summary), small=True),
        ),
        _aggregator(summary),
        settings_html(summary, _SETTING_NAMES),
        checks_html(summary),
    ]
    return page_html(title, sections)


def _head(summary: Mapping[str, Any], title: str) -> str:
    alarm = (
        "Protection was set to <code>none</code>: the aggregator could read every party's update. Updates can give "
        "away the rows they were made from. Use this setting for comparisons on public data only."
    )
    return head_html(
        summary,
        title,
        findings.verdict(summary),
        horizontal_brief(summary),
        alarm=None if findings.is_encrypted(summary) else alarm,
        cautions=(
            findings.clear_alarm(summary),
            training_warning(summary) if has_diverged(summary) else None,
            dropout_headline(summary),
            training_rows_warning(summary),
            findings.key_warning(summary),
        ),
    )


def _exactness(summary: Mapping[str, Any]) -> str:
    explained = (
        "Before encryption, values are rounded to whole numbers; encrypted sums of those are exact. So an average "
        "can differ from the one in ordinary floating point only by rounding, and by how much at most is known "
        "beforehand. This check compares the two in each sum; a point shows the value that came nearest to its bound."
    )
    return section_html(
        "Is the encrypted sum right?",
        paragraphs_html(*findings.exactness_sentences(summary), explained if summary["exactness"] else None),
        figure_html(plots.plot_exactness(summary)),
    )


def _privacy(summary: Mapping[str, Any]) -> str:
    table = privacy_table(summary)
    if table is None:
        return ""
    return section_html(
        "What the model may tell of one row or party",
        paragraphs_html(privacy_sentence(summary), budget_sentence(summary)),
        figure_html(plot_privacy(summary)),
        table_html(table),
    )


def _bits(summary: Mapping[str, Any]) -> str:
    table = precision_table(summary)
    if table is None:
        return ""
    return section_html(
        "How many bits a value needs",
        paragraphs_html(precision_sentence(summary)),
        figure_html(plot_precision(summary)),
        table_html(table),
    )


def _aggregator(summary: Mapping[str, Any]) -> str:
    if not summary["aggregator_saw"]:
        return section_html("What the aggregator could see", paragraphs_html("Not recorded in this summary."))
    return section_html("What the aggregator could see", table_html(aggregator_table(summary)))
