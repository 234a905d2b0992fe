"""How horizontal runs are shown."""

from __future__ import annotations

from typing import Final

from hekat.report.horizontal import plots
from hekat.report.horizontal.aggregator_table import aggregator_table
from hekat.report.horizontal.brief import horizontal_brief
from hekat.report.horizontal.by_role import byte_step_table
from hekat.report.horizontal.byte_text import byte_table
from hekat.report.horizontal.clipping import clip_table
from hekat.report.horizontal.dropouts import dropout_headline
from hekat.report.horizontal.findings import is_encrypted, verdict
from hekat.report.horizontal.page import render_page
from hekat.report.horizontal.plot_clipping import plot_clipping
from hekat.report.horizontal.plot_precision import plot_precision
from hekat.report.horizontal.plots_by_role import plot_role_bytes, plot_role_time
from hekat.report.horizontal.precision_sweep import precision_table
from hekat.report.horizontal.privacy.plot import plot_privacy
from hekat.report.horizontal.privacy.words import privacy_table
from hekat.report.horizontal.tables import party_table, result_table, role_byte_table, role_time_table, time_table
from hekat.report.horizontal.terminal import terminal_findings, terminal_tables
from hekat.report.horizontal.validation_tables import validation_round_table, validation_table
from hekat.report.view import View

HORIZONTAL_VIEW: Final = View(
    page=render_page,
    brief=horizontal_brief,
    terminal_tables=terminal_tables,
    terminal_findings=terminal_findings,
    verdict=verdict,
    is_protected=is_encrypted,
    caution=dropout_headline,
    tables={
        "parties": party_table,
        "results": result_table,
        "validation": validation_table,
        "validation_by_round": validation_round_table,
        "bits": precision_table,
        "privacy": privacy_table,
        "time": time_table,
        "time_by_role": role_time_table,
        "bytes": byte_table,
        "bytes_by_role": role_byte_table,
        "bytes_by_step": byte_step_table,
        "clipping": clip_table,
        "aggregator_saw": aggregator_table,
    },
    plots={
        "results": plots.plot_results,
        "convergence": plots.plot_convergence,
        "bits": plot_precision,
        "privacy": plot_privacy,
        "exactness": plots.plot_exactness,
        "time": plots.plot_time,
        "time_by_role": plot_role_time,
        "bytes": plots.plot_bytes,
        "bytes_by_role": plot_role_bytes,
        "clipping": plot_clipping,
    },
    shown_tables=("results", "validation", "bits", "privacy", "time", "bytes"),
    shown_plots=("convergence", "bits", "privacy", "time_by_role", "bytes_by_role", "clipping"),
)
