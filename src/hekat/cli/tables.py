"""Tables, findings and the brief of a report on the terminal."""

from __future__ import annotations

from collections.abc import Iterable

from rich import box
from rich.console import Console
from rich.markup import escape as escape_markup
from rich.padding import Padding
from rich.table import Table as RichTable
from rich.text import Text

from hekat.printable import printable
from hekat.report import Brief, Finding, Table

NARROW_COLUMNS = 100
# Before every line of a brief stands a label of this width.
LABEL_COLUMNS = 12


def show_tables(console: Console, tables: Iterable[Table]) -> None:
    """Print each table under its title, its note below.

    A narrow terminal gets no column of explanations beside figures; a table of text alone keeps all columns.
    """
    for place, table in enumerate(tables):
        if place > 0:
            console.print()
        shown = RichTable(title=_show(table.title), title_justify="left", title_style="bold", box=box.SIMPLE_HEAD)
        keeps_all = console.width >= NARROW_COLUMNS or table.text_columns == len(table.columns)
        kept = [number for number in range(len(table.columns)) if keeps_all or not 0 < number < table.text_columns]
        for number in kept:
            is_text = number < table.text_columns
            shown.add_column(
                _show(table.columns[number]),
                justify="left" if is_text else "right",
                no_wrap=number == 0,
                overflow="fold",  # a figure or name that is too wide goes on below: nothing is cut off
            )
        for row in table.rows:
            shown.add_row(*(_show(row[number]) for number in kept))
        console.print(shown)
        if table.note:
            console.print(Padding(_show(table.note), (0, 0, 0, 2)), highlight=False, style="dim")


def show_findings(console: Console, findings: Iterable[Finding]) -> None:
    """Print each finding's lines under its title."""
    for finding in findings:
        console.print(f"\n{_show(finding.title)}", style="bold", highlight=False)
        for line in finding.lines:
            console.print(Padding(_show(line), (0, 0, 0, 2)), highlight=False)


def show_brief(console: Console, brief: Brief) -> None:
    """Print the table of models without rules, then facts, warnings and caveats beside their labels."""
    if brief.table is not None:
        console.print()
        grid = RichTable(box=None, pad_edge=False, header_style="bold")
        for number, column in enumerate(brief.table.columns):
            grid.add_column(_show(column), justify="right" if number else "left", overflow="fold")
        for row in brief.table.rows:
            grid.add_row(*map(_show, row))
        console.print(grid)
        console.print(_show(brief.table.note), style="dim", highlight=False)
    console.print()
    for label, text in brief.facts:
        show_labelled(console, label, text)
    for text in brief.warnings:
        show_labelled(console, "warning", text, style="yellow")
    for text in brief.caveats:
        show_labelled(console, "note", text)


def show_labelled(console: Console, label: str, text: str, *, style: str = "") -> None:
    """Print `text` in lines beside its label, as narrow as the console."""
    width = max(20, console.width - LABEL_COLUMNS)
    for number, line in enumerate(Text(printable(text)).wrap(console, width)):
        line.rstrip()
        head = Text(f"{'' if number else label:<{LABEL_COLUMNS}}", style="bold")
        console.print(head + Text(line.plain, style=style), soft_wrap=True, highlight=False)


def _show(text: str) -> str:
    """`text` as it stands, neither markup nor terminal sequence."""
    return escape_markup(printable(text))
