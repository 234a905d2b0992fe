"""The table of each role's seconds by part, alike for all protocols whose roles are timed by parts."""

from __future__ import annotations

from collections.abc import Mapping

from hekat.report.table import Table, format_fixed_seconds

NOT_ITS_PART = "–"


def part_table(by_role: Mapping[str, Mapping[str, float]], parts: Mapping[str, str]) -> Table:
    """Seconds of every role by part; `parts` in their order with what happens in each, others after them."""
    found = dict.fromkeys(part for seconds in by_role.values() for part in seconds)
    ordered = [part for part in parts if part in found] + [part for part in found if part not in parts]
    rows = [
        (
            part,
            parts.get(part, ""),
            *(format_fixed_seconds(took[part]) if part in took else NOT_ITS_PART for took in by_role.values()),
        )
        for part in ordered
    ]
    rows.append(("all", "", *(format_fixed_seconds(sum(took.values())) for took in by_role.values())))
    return Table(
        "Time of each role by part, in seconds",
        ("part", "what happens", *by_role),
        tuple(rows),
        "All roles ran on this one machine and took turns, so each figure is what a machine of its own would take. "
        f"{NOT_ITS_PART} : not this role's part.",
        text_columns=2,
    )
