"""Tables on a terminal: set apart from each other, and nothing cut off where the terminal is narrow."""

from __future__ import annotations

import io

from rich.console import Console

from hekat.cli.tables import show_tables
from hekat.report import Table


def shown(width: int) -> str:
    columns = ("protection", *(f"column{number}" for number in range(6)), "aggregator")
    table = Table("A title", columns, (("lattice", *["1234567.89 ms"] * 7),), "word " * 30)
    console = Console(file=io.StringIO(), width=width)
    show_tables(console, [table, table])
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def test_a_narrow_terminal_cuts_nothing_off() -> None:
    text = shown(60)
    assert "…" not in text
    assert max(map(len, text.splitlines())) <= 60
    assert "".join(text.split()).count("9") >= 14


def test_a_narrow_terminal_keeps_all_columns_of_a_table_of_text() -> None:
    cells = ("lab, ward", "ciphertexts that it cannot open", "the arbiter, who has the key")
    table = Table("Who learns what", ("role", "learns", "must not work with"), (cells,), text_columns=3)
    console = Console(file=io.StringIO(), width=80)
    show_tables(console, [table])
    assert isinstance(console.file, io.StringIO)
    for text in (*table.columns, *cells):
        assert text in console.file.getvalue()


def test_tables_are_set_apart_and_notes_are_indented() -> None:
    lines = [line.rstrip() for line in shown(200).splitlines()]
    titles = [number for number, line in enumerate(lines) if line == "A title"]
    assert len(titles) == 2
    assert lines[titles[1] - 1] == ""
    assert all(line.startswith("  word") for line in shown(60).splitlines() if line.strip().startswith("word"))
