"""The tables that all runs on columns have, as rows of text, for the terminal and for the page alike."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from hekat.report.measured_rows import measured_note, measured_title
from hekat.report.number_text import format_byte_count, format_count, format_metric
from hekat.report.table import Table, format_fixed_seconds, metric_names, metric_title
from hekat.report.vertical.trained_rows import split_in_words

_DIGITS = re.compile(r"\d+")
NOT_LEARNED: Final = "–"


def result_table(summary: Mapping[str, Any]) -> Table | None:
    """Every model's metrics on the test rows; None where there are none."""
    names = metric_names(summary)
    if not names:
        return None
    rows = [
        (
            result["name"],
            *(format_metric(name, result["metrics"].get(name)) for name in names),
        )
        for result in summary["results"]
    ]
    return Table(
        measured_title(summary, "Each model on the test rows"),
        ("model", *map(metric_title, names)),
        tuple(rows),
        "" if summary["test_rows"] is None else measured_note(summary),
    )


def party_table(summary: Mapping[str, Any]) -> Table:
    """Who took part, with which rows and columns, and how many of the rows are common."""
    intersection = summary["intersection"]
    classes = list(dict.fromkeys(label for party in summary["parties"] for label in party["class_rows"] or {}))
    rows = [
        (
            party["name"],
            _describe_role(party["role"]),
            _count(party["rows"]),
            _count(party["columns"]),
            *(_count((party["class_rows"] or {}).get(label)) for label in classes),
        )
        for party in summary["parties"]
    ]
    how = (
        f"{format_count(intersection['common'])} rows, in the same order at all parties: nothing was compared."
        if intersection["kind"] == "aligned"
        else f"{format_count(intersection['common'])} rows are common to all, found by {intersection['kind']} in "
        f"{format_fixed_seconds(intersection['seconds'])} s."
    )
    how += split_in_words(summary)
    return Table(
        "Parties, their rows and columns",
        ("name", "role", "rows", "columns", *(f"training rows: {label}" for label in classes)),
        tuple(rows),
        how,
        text_columns=2,
    )


def step_table(summary: Mapping[str, Any]) -> Table:
    """Seconds of every role by the finer steps."""
    by_role = summary["seconds_by_role"]
    steps = list(dict.fromkeys(step for seconds in by_role.values() for step in seconds))
    rows = [(step, *(_seconds(by_role[role].get(step)) for role in by_role)) for step in steps]
    return Table("The same by finer steps, in seconds", ("step", *by_role), tuple(rows))


def byte_table(summary: Mapping[str, Any]) -> Table:
    """Sealed bytes that each role sent and received, and what it sent by kind of step, the most first."""
    roles = [party["name"] for party in summary["parties"] if party["name"] in summary["bytes"]["by_role"]]
    traffic = [summary["bytes"]["by_role"][role] for role in roles]
    sent: dict[str, list[int]] = {}
    for place, found in enumerate(traffic):
        for kind, count in found["by_step"].items():
            sent.setdefault(_DIGITS.sub("*", kind), [0] * len(roles))[place] += count["sent"]
    rows = [(f"{way}, in all", *(format_byte_count(found[way]) for found in traffic)) for way in ("sent", "received")]
    rows += [
        (f"sent: {kind}", *(format_byte_count(count) if count else NOT_LEARNED for count in counts))
        for kind, counts in sorted(sent.items(), key=lambda item: -sum(item[1]))
    ]
    one = summary["bytes"]["ciphertext_bytes"]
    return Table(
        "Bytes by role and step",
        ("what", *roles),
        tuple(rows),
        "Sealed messages, greetings and signatures included."
        + (f" One ciphertext has {format_byte_count(one)}." if one else ""),
    )


def _describe_role(role: str) -> str:
    explained = {"guest": "guest: has the labels", "arbiter": "arbiter: opens masked values, has no rows"}
    return explained.get(role, role)


def _count(value: int | None) -> str:
    return NOT_LEARNED if value is None else format_count(value)


def _seconds(value: float | None) -> str:
    return NOT_LEARNED if value is None else format_fixed_seconds(value)
