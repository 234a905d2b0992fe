"""What every party learned, as its signed ledger has it, in a table for each."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from hekat.report import shape
from hekat.report.table import Table

HOWS = {
    "disclosed": "readable to it",
    "ciphertext": "encrypted, cannot open it",
    "sealed": "sealed to it: it alone opens",
    "public": "public",
}
_NOTHING = "nothing secret"

PARTY_VIEW = shape.record(
    {
        "party": shape.text,
        "learned": shape.list_of(
            shape.record(
                {
                    "how": shape.one_of(*HOWS),
                    "step": shape.text,
                    "peers": shape.list_of(shape.text),
                    "what": shape.text,
                }
            )
        ),
        "noted": shape.list_of(
            shape.record({"how": shape.one_of(*HOWS), "step": shape.text, "what": shape.text, "times": shape.count})
        ),
        "steps": shape.list_of(shape.text),
    }
)


def seen_tables(summary: Mapping[str, Any]) -> list[Table]:
    """A table for each role: what it noted of itself and what it was sent, what it can read first."""
    return [_table(view) for view in summary["seen"]]


def seen_table(summary: Mapping[str, Any]) -> Table | None:
    """The same in one table; None where the summary has no ledgers."""
    tables = seen_tables(summary)
    rows = [(view["party"], *row) for view, table in zip(summary["seen"], tables, strict=True) for row in table.rows]
    notes = dict.fromkeys(table.note for table in tables)
    columns = ("party", "how it could read it", "step", "from", "what it was")
    return Table("What every party learned", columns, tuple(rows), " ".join(notes), text_columns=5) if rows else None


def seen_lines(summary: Mapping[str, Any]) -> list[str]:
    """What the parties could read, a line for each thing; what they cannot open and what is public is left out."""
    found: dict[str, list[str]] = {}
    for view in summary["seen"]:
        told = [_note(row) for row in view["noted"] if row["how"] == "disclosed"]
        told += [
            f"{row['what']} (from {', '.join(row['peers'])}, {row['step']})"
            for row in view["learned"]
            if row["how"] == "disclosed"
        ]
        for text in told or ["nothing that it can read"]:
            found.setdefault(text, []).append(view["party"])
    return [f"{', '.join(dict.fromkeys(parties))}: {text}" for text, parties in found.items()]


def _table(view: Mapping[str, Any]) -> Table:
    rows: list[tuple[str, ...]] = [(HOWS[row["how"]], row["step"], "its own note", _note(row)) for row in view["noted"]]
    rows += received_rows(view["learned"])
    rows.sort(key=lambda row: list(HOWS.values()).index(row[0]))
    spread = f" A … stands for each of {', '.join(view['steps'])}." if view["steps"] else ""
    return Table(
        f"What {view['party']} learned",
        ("how it could read it", "step", "from", "what it was"),
        tuple(rows),
        f"From its signed ledger. A * in a step stands for a number.{spread} "
        "Beside this it sees sizes and times of messages.",
        text_columns=4,
    )


def received_rows(learned: Iterable[Mapping[str, Any]], *, everybody: str = "") -> list[tuple[str, str, str, str]]:
    """A row for each kind of thing that was received, what its receiver can read first.

    Rows are (how it could read it, step, from whom, what it was); kinds that hold nothing secret share one row for each
    sender, as they say the same. Senders that are `everybody`, their names in order, are called every party.
    """
    rows: dict[tuple[str, str, str, str], list[str]] = {}
    for row in sorted(learned, key=lambda row: list(HOWS).index(row["how"])):
        peers, what = ", ".join(row["peers"]), row["what"] or _NOTHING
        if row["how"] == "ciphertext":
            what = f"nothing without: {what}"
        sender = "every party" if everybody and peers == everybody else peers
        key = (HOWS[row["how"]], "" if what == _NOTHING else row["step"], sender, what)
        rows.setdefault(key, []).append(row["step"])
    return [(how, ", ".join(dict.fromkeys(steps)), peers, what) for (how, _, peers, what), steps in rows.items()]


def _note(row: Mapping[str, Any]) -> str:
    return row["what"] if row["times"] == 1 else f"{row['what']} ({row['times']} times)"
