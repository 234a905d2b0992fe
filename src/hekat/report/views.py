"""Picks the view of a summary's protocol."""

from __future__ import annotations

from collections.abc import Mapping

from hekat.report.brief import Brief
from hekat.report.encrypted_model.view import ENCRYPTED_MODEL_VIEW
from hekat.report.horizontal.view import HORIZONTAL_VIEW
from hekat.report.horizontal_trees.view import ROW_TREES_VIEW
from hekat.report.psi.view import PSI_VIEW
from hekat.report.summary import protocol_of
from hekat.report.table import Table
from hekat.report.vertical_linear.view import VERTICAL_VIEW
from hekat.report.vertical_network.view import NETWORK_VIEW
from hekat.report.vertical_trees.view import TREES_VIEW
from hekat.report.view import Facts, Finding, View

_VIEWS: Mapping[str, View] = {
    "horizontal": HORIZONTAL_VIEW,
    "horizontal_trees": ROW_TREES_VIEW,
    "encrypted_model": ENCRYPTED_MODEL_VIEW,
    "vertical_linear": VERTICAL_VIEW,
    "vertical_trees": TREES_VIEW,
    "vertical_network": NETWORK_VIEW,
    "psi": PSI_VIEW,
}


def view_of(summary: Facts) -> View:
    """The view of the summary's protocol."""
    return _VIEWS[protocol_of(summary)]


def render_page(summary: Facts) -> str:
    """The whole page of a run. Raises HekatError where matplotlib is not installed."""
    return view_of(summary).page(summary)


def brief_of(summary: Facts) -> Brief:
    """What a run prints unasked: one screen.

    Args:
        summary: what `load_summary` gave.

    Returns:
        The models' figures and what there is to say of the run, in reading order.

    Examples:
        >>> type(brief_of(load_summary(run_folder))).__name__
        'Brief'
    """
    return view_of(summary).brief(summary)


def terminal_tables(summary: Facts) -> list[Table]:
    """What a terminal shows as tables.

    Args:
        summary: what `load_summary` gave.

    Returns:
        Title, heads and rows of each, in reading order.

    Examples:
        >>> len(terminal_tables(load_summary(run_folder))) > 3
        True
    """
    return view_of(summary).terminal_tables(summary)


def terminal_findings(summary: Facts) -> list[Finding]:
    """What a terminal shows as paragraphs.

    Args:
        summary: what `load_summary` gave.

    Returns:
        Title and text of each, in reading order.

    Examples:
        >>> all(finding.title for finding in terminal_findings(load_summary(run_folder)))
        True
    """
    return view_of(summary).terminal_findings(summary)


def verdict(summary: Facts) -> str:
    """One sentence: who did what together, and what came out.

    Args:
        summary: what `load_summary` gave.

    Returns:
        The sentence.

    Examples:
        >>> "trained one model" in verdict(load_summary(run_folder))
        True
    """
    return view_of(summary).verdict(summary)
