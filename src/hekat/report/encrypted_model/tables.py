"""The tables of a training on an encrypted model as rows of text, for the terminal and for the page alike."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from hekat.report.encrypted_model.measured import measured_words, models_in_words
from hekat.report.encrypted_model.parts import PARTS
from hekat.report.how_played import clock_sentence
from hekat.report.number_text import format_count, format_metric, join_names
from hekat.report.part_table import NOT_ITS_PART, part_table
from hekat.report.table import METRIC_ORDER, Table, metric_names, metric_title
from hekat.report.vertical.tables import byte_table as bytes_by_step

_MOST_OPENED: Final = 12
_DOES: Final = {
    "host": "host: trains on its rows",
    "owner": "owner: gets the model",
    "arbiter": "arbiter: holds the key, has no rows",
    "aggregator": "aggregator: adds ciphertexts, has no key",
}


def party_table(summary: Mapping[str, Any]) -> Table:
    """Who took part, as what, with which rows."""
    classes = list(dict.fromkeys(label for party in summary["parties"] for label in party["class_rows"] or {}))
    has_held_out = any(party["held_out"] for party in summary["parties"])
    rows = [
        (
            party["name"],
            "; ".join(_DOES[role] for role in party["roles"]),
            _count(party["rows"]),
            *((_count(party["held_out"] if party["rows"] is not None else None),) if has_held_out else ()),
            *(_count((party["class_rows"] or {}).get(label)) for label in classes),
        )
        for party in summary["parties"]
    ]
    columns = summary["columns"]
    return Table(
        "Roles and their rows",
        ("name", "role", "rows", *(("held out",) if has_held_out else ()), *(f"rows: {label}" for label in classes)),
        tuple(rows),
        "" if columns is None else f"{format_count(columns)} columns, once categories are encoded.",
        text_columns=2,
    )


def learns_table(summary: Mapping[str, Any]) -> Table:
    """Who learns what by the protocol, and who must not work with whom."""
    settings = summary["settings"]
    hosts, arbiter, aggregator = join_names(settings["hosts"]), settings["arbiter"], settings["aggregator"]
    owner = settings["owner"]
    rows: list[tuple[str, str, str]]
    is_plain = settings["protection"] == "none"
    if is_plain:
        rows = [
            (hosts, "THE MODEL of every round, in the clear", "nothing is protected"),
            (aggregator, "EVERY HOST'S PART of each round, in the clear", "nothing is protected"),
            (arbiter, "THE SUM of these parts, in the clear", "nothing is protected"),
        ]
    else:
        rows = [
            (hosts, "ciphertexts of the model, which they cannot open", f"{arbiter}, who has the key"),
            (aggregator, "ciphertexts, and one share of the model, uniform by itself", f"{arbiter}, and {owner}"),
            (arbiter, "numbers under uniform masks, and the other share", f"{aggregator}, and any host"),
        ]
    rows.append((owner, models_in_words(summary), "nothing is protected" if is_plain else aggregator))
    return Table("Who learns what", ("role", "learns", "must not work with"), tuple(rows), text_columns=3)


def result_table(summary: Mapping[str, Any]) -> Table | None:
    """The final model's metrics on the owner's rows; None where there are none."""
    names = metric_names(summary)
    if not names:
        return None
    rows = [
        (one["name"], *(format_metric(name, one["metrics"].get(name)) for name in names)) for one in summary["results"]
    ]
    owner = summary["settings"]["owner"]
    note = f"Measured by {owner} on {measured_words(summary)}."
    return Table(f"The model on rows of {owner}", ("model", *map(metric_title, names)), tuple(rows), note)


def opened_table(summary: Mapping[str, Any]) -> Table | None:
    """The models that the owner was given on the way; None where it was given the last one alone."""
    opened = summary["opened"]
    if len(opened) < 2:
        return None
    names = [name for name in METRIC_ORDER if any(name in one["metrics"] for one in opened)]
    every = max(1, -(-(len(opened) - 1) // (_MOST_OPENED - 1)))
    rows = [
        (format_count(one["rounds_done"]), *(format_metric(name, one["metrics"].get(name)) for name in names))
        for place, one in enumerate(opened)
        if not place % every or place == len(opened) - 1
    ]
    return Table("Models that the owner was given", ("after round", *map(metric_title, names)), tuple(rows))


def time_table(summary: Mapping[str, Any]) -> Table:
    """Seconds of every role by part."""
    return part_table(summary["seconds_by_role"], PARTS, clock_sentence(summary))


def byte_table(summary: Mapping[str, Any]) -> Table:
    """Sealed bytes of every role, and what it sent by kind of step."""
    return bytes_by_step(summary)


def _count(value: int | None) -> str:
    return NOT_ITS_PART if value is None else format_count(value)
