"""A finished run in a notebook: its summary, tables and plots, each of which shows itself where it stands last."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from html import escape
from pathlib import Path
from typing import Any

from hekat.errors import HekatError
from hekat.report import plots
from hekat.report.bits import bits_table
from hekat.report.by_role import byte_step_table
from hekat.report.byte_text import byte_table
from hekat.report.clipped import clip_table
from hekat.report.findings import is_encrypted, verdict
from hekat.report.html_table import table_html
from hekat.report.losses import loss_headline
from hekat.report.plot_bits import plot_bits
from hekat.report.plot_clipping import plot_clipping
from hekat.report.plots_by_role import plot_role_bytes, plot_role_time
from hekat.report.seen import seen_table
from hekat.report.style import NOTEBOOK_STYLE
from hekat.report.summary import Summary, load_summary
from hekat.report.tables import Table, party_table, result_table, role_byte_table, role_time_table, time_table
from hekat.report.validation_tables import validation_round_table, validation_table

_TABLES: Mapping[str, Callable[[Summary], Table | None]] = {
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
}
_PLOTS: Mapping[str, Callable[[Summary], str | None]] = {
    "results": plots.plot_results,
    "convergence": plots.plot_convergence,
    "bits": plot_bits,
    "exactness": plots.plot_exactness,
    "time": plots.plot_time,
    "time_by_role": plot_role_time,
    "bytes": plots.plot_bytes,
    "bytes_by_role": plot_role_bytes,
    "clipping": plot_clipping,
}
# What a run shows of itself without being asked for more.
_SHOWN_TABLES = ("results", "validation", "bits", "time", "bytes")
_SHOWN_PLOTS = ("convergence", "bits", "time_by_role", "bytes_by_role", "clipping")
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

    @property
    def verdict(self) -> str:
        """One sentence: who trained how, and how good the model is."""
        return verdict(self.summary)

    @property
    def tables(self) -> dict[str, Shown]:
        """The tables by name; those that this run has nothing for are left out."""
        made = {name: make(self.summary) for name, make in _TABLES.items()}
        return {name: Shown(name, table_html(table)) for name, table in made.items() if table is not None}

    @property
    def plots(self) -> dict[str, Shown]:
        """The plots by name, as SVG; those that this run has nothing for are left out.

        Raises HekatError where matplotlib is not installed.
        """
        drawn = {name: draw(self.summary) for name, draw in _PLOTS.items()}
        return {name: Shown(name, drawing) for name, drawing in drawn.items() if drawing is not None}

    def __str__(self) -> str:
        return self.verdict

    def _repr_html_(self) -> str:
        parts = [f'<p class="verdict">{escape(self.verdict)}</p>']
        if not is_encrypted(self.summary):
            parts.insert(0, '<p class="alarm"><strong>This run was NOT protected.</strong></p>')
        lost = loss_headline(self.summary)
        parts += [f"<p>{escape(lost)}</p>"] if lost is not None else []
        tables = self.tables
        parts += [tables[name].html for name in _SHOWN_TABLES if name in tables]
        try:
            drawn = [_PLOTS[name](self.summary) for name in _SHOWN_PLOTS]
        except HekatError as error:  # tables need no matplotlib; the page in the folder says the same
            return _frame("\n".join([*parts, f"<p>No plots: {escape(str(error))}</p>"]))
        return _frame("\n".join([*parts, *(f"<figure>{drawing}</figure>" for drawing in drawn if drawing)]))


def open_run(folder: str | Path) -> RunReport:
    """The finished run in `folder`, such as runs/<id>. Raises StateError where there is none, or it is damaged."""
    path = Path(folder)
    return RunReport(path, load_summary(path))


def _frame(html: str) -> str:
    """`html` with the style that its classes and colours need, and ids that no other output of the notebook has."""
    number = next(_shown)
    unique: Any = _REFERENCE.sub(rf"\g<1>shown-{number}-", html)
    return f'<div class="hekat-run"><style>{NOTEBOOK_STYLE}</style>\n{unique}\n</div>'
