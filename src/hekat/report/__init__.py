"""The self-contained report of a run, and its tables for terminals and notebooks; all from the run's summary alone."""

from hekat.report.brief import Brief
from hekat.report.notebook import RunReport, open_run
from hekat.report.summary import load_summary
from hekat.report.table import Table
from hekat.report.view import Finding
from hekat.report.views import brief_of, terminal_findings, terminal_tables, verdict
from hekat.report.write import write_report

__all__ = [
    "Brief",
    "Finding",
    "RunReport",
    "Table",
    "brief_of",
    "load_summary",
    "open_run",
    "terminal_findings",
    "terminal_tables",
    "verdict",
    "write_report",
]
