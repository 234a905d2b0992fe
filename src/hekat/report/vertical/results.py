"""The page's section of results of a model on columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from hekat.report.page.parts import html_of_tables, paragraphs_html, section_html
from hekat.report.vertical.tables import result_table


def results_html(summary: Mapping[str, Any], compared: Sequence[str]) -> str:
    """Metrics where rows were measured on, who learned the scores, and the sentences of a comparison."""
    table = result_table(summary)
    if table is None and not compared:
        compared = ["No metric was measured: the job names no test data, and holds no rows out."]
    receivers = summary["prediction_receivers"]
    told = f"Scores of these rows went to {', '.join(receivers)} alone." if receivers and table else None
    return section_html("Results", html_of_tables(table), paragraphs_html(*compared, told))
