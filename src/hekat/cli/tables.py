"""Tables of a report on the terminal."""

from __future__ import annotations

from collections.abc import Iterable

from rich import box
from rich.console import Console
from rich.markup import escape
from rich.table import Table as RichTable

from hekat.report import Table


def show_tables(console: Console, tables: Iterable[Table]) -> None:
    """Print each table under its title, first column to the left, numbers to the right, its note below."""
    for table in tables:
        shown = RichTable(title=escape(table.title), title_justify="left", title_style="bold", box=box.SIMPLE_HEAD)
        for number, column in enumerate(table.columns):
            shown.add_column(escape(column), justify="left" if number == 0 else "right", overflow="fold")
        for row in table.rows:
            shown.add_row(*(escape(cell) for cell in row))
        console.print(shown)
        if table.note:
            console.print(f"  {escape(table.note)}", highlight=False, style="dim")
