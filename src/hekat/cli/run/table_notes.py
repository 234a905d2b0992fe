"""What the owners of tables have to look at before a run, as a dry run shows it."""

from __future__ import annotations

from collections.abc import Mapping

from rich.console import Console

from hekat.data import Table
from hekat.printable import printable
from hekat.report.brief import data_warnings, join_parties


def show_notes(console: Console, tables: Mapping[str, Table]) -> None:
    """One line for each note, of all parties that share it; warnings first."""
    notes = [f"{party}: {note}" for party, table in tables.items() for note in table.notes]
    warnings = data_warnings(notes)
    told = [(one, "warning") for one in join_parties(warnings)]
    told += [(one, "note") for one in join_parties(note for note in notes if note not in warnings)]
    for line, kind in told:
        console.print(f"{kind:<11} {printable(line)}", highlight=False, markup=False)
