"""The self-contained report of a run, and its tables for terminals and notebooks; all from the run's summary alone."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
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
_MODULES = {
    "Brief": "brief",
    "Finding": "view",
    "RunReport": "notebook",
    "Table": "table",
    "load_summary": "summary",
    "open_run": "notebook",
    "write_report": "write",
}


def __getattr__(name: str) -> Any:
    """Load what is asked for when it is asked for: who reads a summary alone draws nothing."""
    if name not in __all__:
        raise AttributeError(f"module 'hekat.report' has no attribute {name!r}")
    value = getattr(import_module(f"hekat.report.{_MODULES.get(name, 'views')}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
