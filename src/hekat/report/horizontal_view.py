"""How horizontal runs are shown."""

from __future__ import annotations

from typing import Final

from hekat.report import plots
from hekat.report.bits import bits_table
from hekat.report.by_role import byte_step_table
from hekat.report.byte_text import byte_table
from hekat.report.clipped import clip_table
from hekat.report.findings import is_encrypted, verdict
from hekat.report.losses import loss_headline
from hekat.report.page import render_page
from hekat.report.plot_bits import plot_bits
from hekat.report.plot_clipping import plot_clipping
from hekat.report.plots_by_role import plot_role_bytes, plot_role_time
from hekat.report.seen import seen_table
from hekat.report.tables import party_table, result_table, role_byte_table, role_time_table, time_table
from hekat.report.terminal import terminal_findings, terminal_tables
from hekat.report.validation_tables import validation_round_table, validation_table
from hekat.report.view import View

HORIZONTAL_VIEW: Final = View(
    page=render_page,
    terminal_tables=terminal_tables,
    terminal_findings=terminal_findings,
    verdict=verdict,
    is_protected=is_encrypted,
    caution=loss_headline,
    tables={
        "parties": party_table,
        "results": result_table,
        "validation": validation_table,
        "validation_by_round": validation_round_table,
        "bits": bits_table,
        "time": time_table,
        "time_by_role": role_time_table,
        "bytes": byte_table,
        "bytes_by_role": role_byte_table,
        "bytes_by_step": byte_step_table,
        "clipping": clip_table,
        "aggregator_saw": seen_table,
    },
    plots={
        "results": plots.plot_results,
        "convergence": plots.plot_convergence,
        "bits": plot_bits,
        "exactness": plots.plot_exactness,
        "time": plots.plot_time,
        "time_by_role": plot_role_time,
        "bytes": plots.plot_bytes,
        "bytes_by_role": plot_role_bytes,
        "clipping": plot_clipping,
    },
    shown_tables=("results", "validation", "bits", "time", "bytes"),
    shown_plots=("convergence", "bits", "time_by_role", "bytes_by_role", "clipping"),
)
