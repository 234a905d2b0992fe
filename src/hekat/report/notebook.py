"""A finished run in a notebook: its summary, tables and plots; a cell that ends with one shows it."""

from __future__ import annotations

import itertools
import re
from dataclasses import dataclass, field
from html import escape
from pathlib import Path
from typing import Any

from hekat.errors import HekatError
from hekat.report.page.html_table import table_html
from hekat.report.page.style import NOTEBOOK_STYLE
from hekat.report.summary import Summary, load_summary
from hekat.report.view import View
from hekat.report.views import view_of

_REFERENCE = re.compile(r'(\bid="|href="#|url\(#)')
_shown = itertools.count(1)


@dataclass(frozen=True)
class Shown:
    """One table or plot of a run; a notebook shows its `html`."""

    name: str
    html: str = field(repr=False)

    def _repr_html_(self) -> str:
        return _frame(self.html)


@dataclass(frozen=True)
class RunReport:
    """A finished run as it lies in `folder`; a notebook shows its verdict, tables and plots."""

    folder: Path
    summary: Summary = field(repr=False)
    _drawn: dict[str, str | None] = field(default_factory=dict, init=False, repr=False, compare=False)
    """The drawings so far: a notebook asks for one plot after another."""

    @property
    def _view(self) -> View:
        return view_of(self.summary)

    @property
    def verdict(self) -> str:
        """One sentence: who did what together, and what came out."""
        return self._view.verdict(self.summary)

    @property
    def tables(self) -> dict[str, Shown]:
        """The tables by name; those that this run has nothing for are left out."""
        made = {name: make(self.summary) for name, make in self._view.tables.items()}
        return {name: Shown(name, table_html(table)) for name, table in made.items() if table is not None}

    @property
    def plots(self) -> dict[str, Shown]:
        """The plots by name, as SVG; those that this run has nothing for are left out.

        Raises HekatError where matplotlib is not installed.
        """
        drawn = {name: self._draw(name) for name in self._view.plots}
        return {name: Shown(name, drawing) for name, drawing in drawn.items() if drawing is not None}

    def _draw(self, name: str) -> str | None:
        if name not in self._drawn:
            self._drawn[name] = self._view.plots[name](self.summary)
        return self._drawn[name]

    def __str__(self) -> str:
        return self.verdict

    def _repr_html_(self) -> str:
        parts = [f'<p class="verdict">{escape(self.verdict)}</p>']
        view = self._view
        if not view.is_protected(self.summary):
            parts.insert(0, '<p class="alarm"><strong>This run was NOT protected.</strong></p>')
        caution = view.caution(self.summary)
        parts += [f"<p>{escape(caution)}</p>"] if caution is not None else []
        tables = self.tables
        parts += [tables[name].html for name in view.shown_tables if name in tables]
        try:
            drawn = [self._draw(name) for name in view.shown_plots]
        except HekatError as error:  # tables need no matplotlib; the page in the folder says the same
            return _frame("\n".join([*parts, f"<p>No plots: {escape(str(error))}</p>"]))
        return _frame("\n".join([*parts, *(f"<figure>{drawing}</figure>" for drawing in drawn if drawing)]))


def open_run(folder: str | Path) -> RunReport:
    """The finished run in a folder, to show in a notebook.

    Args:
        folder: such as "runs/<id>".

    Returns:
        Its tables, plots and summary; as the last line of a cell it shows itself.

    Raises:
        StateError: there is none, or it is damaged.

    Examples:
        >>> "bytes_by_step" in open_run(run_folder).tables
        True
    """
    path = Path(folder)
    return RunReport(path, load_summary(path))


def _frame(html: str) -> str:
    """`html` with the style that its classes and colours need, and ids that no other output of the notebook has."""
    number = next(_shown)
    unique: Any = _REFERENCE.sub(rf"\g<1>shown-{number}-", html)
    return f'<div class="hekat-run"><style>{NOTEBOOK_STYLE}</style>\n{unique}\n</div>'
