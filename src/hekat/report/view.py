"""How runs of one protocol are shown: on a page, on a terminal, in a notebook."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from hekat.report.brief import Brief
from hekat.report.table import Table

Facts = Mapping[str, Any]


@dataclass(frozen=True)
class Finding:
    """A title and its lines."""

    title: str
    lines: list[str]


@dataclass(frozen=True)
class View:
    """What shows a summary of one protocol.

    `brief` is what a run prints unasked. `tables` and `plots` are by name, None where a run has nothing for one;
    `shown_tables` and `shown_plots` are what a notebook shows unasked, `caution` what it says before them.
    """

    page: Callable[[Facts], str]
    brief: Callable[[Facts], Brief]
    terminal_tables: Callable[[Facts], list[Table]]
    terminal_findings: Callable[[Facts], list[Finding]]
    verdict: Callable[[Facts], str]
    is_protected: Callable[[Facts], bool]
    caution: Callable[[Facts], str | None]
    tables: Mapping[str, Callable[[Facts], Table | None]]
    plots: Mapping[str, Callable[[Facts], str | None]]
    shown_tables: tuple[str, ...]
    shown_plots: tuple[str, ...]
