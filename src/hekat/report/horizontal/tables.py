"""The tables of a horizontal run as rows of text, for the terminal and for the page alike."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from hekat.report.horizontal.dropouts import dropout_rounds
from hekat.report.horizontal.steps import explain_step, step_names
from hekat.report.how_played import clock_sentence
from hekat.report.measured_rows import measured_note, measured_title
from hekat.report.number_text import (
    describe_metric,
    format_byte_count,
    format_count,
    format_metric,
    join_names,
)
from hekat.report.table import Table, format_fixed_seconds, metric_names, metric_title


def result_table(summary: Mapping[str, Any]) -> Table:
    """Every model's metrics on the common test set, the best of each marked; equal texts are equally good."""
    names = metric_names(summary)
    rows = [
        (result["name"], *(format_metric(name, result["metrics"].get(name)) for name in names))
        for result in summary["results"]
    ]
    marked = {
        (row, column)
        for column, name in enumerate(names, start=1)
        for row in _best_rows(summary, name)
        if len(rows) > 1
    }
    if not names:
        note = "No metric was measured: the job names no common test set."
    else:
        note = measured_note(summary, unknown="the common test set")
        note += " Marked: the best of each column." if marked else ""
    return Table(
        measured_title(summary, "Each model on the common test set"),
        ("model", *map(metric_title, names)),
        tuple(rows),
        note,
        marked=frozenset(marked),
    )


def time_table(summary: Mapping[str, Any]) -> Table:
    """Seconds by step: all parties together, the aggregator, and what the step is."""
    rows = []
    for step in step_names(summary):
        parties, aggregator = seconds_of(summary, step)
        rows.append(
            (
                step,
                explain_step(summary, step),
                format_fixed_seconds(parties),
                format_fixed_seconds(aggregator),
                format_fixed_seconds(parties + aggregator),
            )
        )
    total = sum(summary["seconds_by_step"].values())
    rows.append(("all steps", "", "", "", format_fixed_seconds(total)))
    wall = summary["seconds"].get("encrypted" if summary["settings"]["protection"] != "none" else "plain")
    if wall is not None:
        text = "greetings, ledgers, keeping files, counting, checks, standardising"
        rows.append(("outside these", text, "", "", format_fixed_seconds(max(0.0, wall - total))))
        rows.append(("from start to end", "", "", "", format_fixed_seconds(wall)))
    return Table(
        "Time by step, in seconds",
        ("step", "what happens", "all parties", "aggregator", "total"),
        tuple(rows),
        f"Sums over all rounds. {clock_sentence(summary, ' at these steps')}; waiting for others is not counted.",
        text_columns=2,
    )


def role_time_table(summary: Mapping[str, Any]) -> Table:
    """Seconds of every role by step."""
    steps = step_names(summary)
    rows = []
    for role in role_names(summary, summary["seconds_by_role"]):
        seconds = summary["seconds_by_role"][role]
        cells = [format_fixed_seconds(seconds[step]) if step in seconds else "–" for step in steps]
        rows.append((role, *cells, format_fixed_seconds(sum(seconds.values()))))
    return Table("Time of each role, in seconds", ("role", *steps, "total"), tuple(rows), "– : not this role's step.")


def role_byte_table(summary: Mapping[str, Any]) -> Table:
    """Sealed bytes that each role sent and received in the whole run."""
    traffic = summary["bytes"]["by_role"]
    names = role_names(summary, traffic)
    parted = bool(names) and all("by_step" in traffic[role] for role in names)
    rows = []
    for role in names:
        cells = [format_byte_count(traffic[role][way]) for way in ("sent", "received")]
        if parted:
            is_aggregator = role == summary["settings"]["aggregator"]
            cells += ["–"] * 4 if is_aggregator else _ways(traffic[role]["by_step"].values())
        rows.append((role, *cells))
    return Table(
        "Bytes of the whole run, by role",
        ("role", "sent", "received", *(("up", "down", "shares sent", "shares received") if parted else ())),
        tuple(rows),
        "Sealed messages of all rounds and of the preparation, greetings and signatures included."
        + (" Up and down: to and from the aggregator. Shares: to and from those who open sums." if parted else ""),
    )


def _ways(steps: Iterable[Mapping[str, int]]) -> list[str]:
    found = list(steps)
    return [format_byte_count(sum(step[way] for step in found)) for way in ("up", "down", "shares_out", "shares_in")]


def party_table(summary: Mapping[str, Any]) -> Table:
    """The parties, each with its count of rows by class."""
    settings, parties = summary["settings"], summary["parties"]
    classes = list(dict.fromkeys(label for party in parties for label in party["class_rows"] or {}))
    rows = []
    for party in parties:
        role = ", ".join(_roles_of(summary, party["name"]))
        rows.append((party["name"], role, format_count(party["rows"]), *_class_cells(party, classes)))
    rows.append((settings["aggregator"], "aggregator, no private key", "none", *("–" for _ in classes)))
    if settings.get("opening") == "authority":
        rows.append((join_names(settings["openers"]), "key authority, opens sums", "none", *("–" for _ in classes)))
    total = sum(party["rows"] for party in parties)
    sums = [sum((party["class_rows"] or {}).get(label, 0) for party in parties) for label in classes]
    rows.append(("all parties", "", format_count(total), *(_share_cell(number, total) for number in sums)))
    return Table(
        "Parties and their rows",
        ("name", "role", "rows", *classes),
        tuple(rows),
        "" if classes else "Rows by class are not listed: the job has no classes.",
        text_columns=2,
    )


def seconds_of(summary: Mapping[str, Any], step: str) -> tuple[float, float]:
    """(all parties together, the aggregator) in seconds."""
    aggregator = summary["seconds_by_role"].get(summary["settings"]["aggregator"], {}).get(step, 0.0)
    return max(0.0, summary["seconds_by_step"][step] - aggregator), aggregator


def _best_rows(summary: Mapping[str, Any], name: str) -> list[int]:
    better = describe_metric(name).higher_is_better
    values = {row: r["metrics"][name] for row, r in enumerate(summary["results"]) if name in r["metrics"]}
    if better is None or len(values) < 2:
        return []
    best = max(values.values()) if better else min(values.values())
    return [row for row, value in values.items() if format_metric(name, value) == format_metric(name, best)]


def role_names(summary: Mapping[str, Any], found: Mapping[str, Any]) -> list[str]:
    """The roles in `found`: parties in the order of the job, the aggregator, then the others."""
    wanted = [*(party["name"] for party in summary["parties"]), summary["settings"]["aggregator"]]
    return [role for role in wanted if role in found] + sorted(set(found) - set(wanted))


def _roles_of(summary: Mapping[str, Any], name: str) -> list[str]:
    settings, when = summary["settings"], dropout_rounds(summary)
    makes = {"paillier": "makes the key pair", "shared": "makes the shared key"}
    key = makes.get(settings.get("opening", settings["protection"]))
    found = ["party", *([key] if key is not None and name == settings["leader"] else [])]
    if settings.get("opening") == "committee" and name in settings["openers"]:
        found.append("member of the committee")
    return [*found, *([f"lost {when[name]}"] if name in when else [])]


def _class_cells(party: Mapping[str, Any], classes: list[str]) -> list[str]:
    counts = party["class_rows"]
    if counts is None:
        return ["not known" for _ in classes]
    return [_share_cell(counts.get(label, 0), party["rows"]) for label in classes]


def _share_cell(number: int, total: int) -> str:
    return f"{format_count(number)} ({100 * number / total:.0f}%)" if total else format_count(number)
