"""Writes the report of a run into its folder."""

from __future__ import annotations

from pathlib import Path

from hekat.report.summary import load_summary
from hekat.report.views import render_page
from hekat.state import replace_file

REPORT_FILE = "report.html"


def write_report(run_folder: Path) -> Path:
    """Write report.html, whole or not at all, from summary.json in a run's folder.

    Args:
        run_folder: such as runs/<id>.

    Returns:
        The path of the page.

    Raises:
        StateError: the summary is missing, damaged or of another format, or the disk refuses.
        HekatError: matplotlib is not installed.

    Examples:
        >>> write_report(run_folder).name
        'report.html'
    """
    page = render_page(load_summary(run_folder))
    path = run_folder / REPORT_FILE
    replace_file(path, page.encode("utf-8"), mode=0o644)
    return path
