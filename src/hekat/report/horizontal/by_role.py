"""Time and bytes of each role, in few kinds: what the plots by role show, and the table of bytes by step."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hekat.report.horizontal.steps import step_names
from hekat.report.horizontal.tables import role_names
from hekat.report.number_text import format_byte_count, format_count
from hekat.report.table import Table

# Kinds of steps, each with its explanation; steps without a kind count as protection.
STEP_KINDS = {
    "train": "own training and validation",
    "protect": "protection: encoding, keys and shares, encrypting, adding, decrypting",
    "message": "messages: sealing, signing, opening, checking",
}
_OF_TREES = ("bin", "gradients", "histograms", "losses", "scores")
_KIND_OF_STEP = {
    **dict.fromkeys(("train", "map", "validate", *_OF_TREES), "train"),
    **dict.fromkeys(("send", "open"), "message"),
}
WAYS = {
    "up": "up, to the aggregator",
    "down": "down, from the aggregator",
    "shares_out": "to those who open sums",
    "shares_in": "from those who open sums",
}
_BYTE_STEPS = {
    "session": "greetings, keys, first agreements, end",
    "categories": "finding the categories of columns together",
    "fill": "encrypted sums for what fills empty cells",
    "standardise": "encrypted sums for mean and spread of each column",
    "bounds": "agreeing on clipping bounds",
    "sums": "updates, shares and sums of the rounds",
    "agreement": "comparing models at the end of each round",
    "validation": "validation after the last round",
    "bins": "counts by which parties find bins, and labels",
    "histograms": "rows and gradients by node, column and bin",
    "leaves": "gradients by leaf, and losses",
    "losses": "losses of the final model",
}
# At most this many roles have bars of their own.
MOST_ROLES = 16


def kind_seconds(summary: Mapping[str, Any]) -> dict[str, dict[str, float]]:
    """Seconds of each role by kind of step, in the order of `role_names`."""
    found: dict[str, dict[str, float]] = {}
    for role in role_names(summary, summary["seconds_by_role"]):
        found[role] = dict.fromkeys(STEP_KINDS, 0.0)
        for step in step_names(summary):
            seconds = summary["seconds_by_role"][role].get(step, 0.0)
            found[role][_KIND_OF_STEP.get(step, "protect")] += seconds
    return shorten(summary, found)


def way_bytes(summary: Mapping[str, Any]) -> dict[str, dict[str, float]]:
    """Bytes of each role by direction; the aggregator receives what is "up". Empty where the summary has none."""
    traffic = summary["bytes"]["by_role"]
    aggregator = summary["settings"]["aggregator"]
    found: dict[str, dict[str, float]] = {}
    for role in role_names(summary, traffic):
        if "by_step" not in traffic[role]:
            return {}
        if role == aggregator:
            found[role] = {"up": traffic[role]["received"], "down": traffic[role]["sent"]}
        else:
            found[role] = {way: sum(step[way] for step in traffic[role]["by_step"].values()) for way in WAYS}
    return shorten(summary, found)


def shorten(summary: Mapping[str, Any], found: dict[str, dict[str, float]]) -> dict[str, dict[str, float]]:
    """Of many roles the parties with the most, the mean of the other parties, and every other role."""
    parties = [role for role in found if role in {party["name"] for party in summary["parties"]}]
    if len(found) <= MOST_ROLES:
        return found
    largest = sorted(parties, key=lambda role: -sum(found[role].values()))
    shown, left = set(largest[: MOST_ROLES // 2]), largest[MOST_ROLES // 2 :]
    kinds = found[left[0]]
    mean = {kind: sum(found[role][kind] for role in left) / len(left) for kind in kinds}
    return {
        **{role: found[role] for role in parties if role in shown},
        f"mean of {format_count(len(left))} other parties": mean,
        **{role: found[role] for role in found if role not in parties},
    }


def byte_step_table(summary: Mapping[str, Any]) -> Table | None:
    """Sealed bytes of all parties together by kind of step; None where the summary does not tell steps apart."""
    traffic = summary["bytes"]["by_role"]
    parties = [traffic[party["name"]] for party in summary["parties"] if party["name"] in traffic]
    if not parties or any("by_step" not in party for party in parties):
        return None
    found = dict.fromkeys(step for party in parties for step in party["by_step"])
    steps = [step for step in _BYTE_STEPS if step in found] + [step for step in found if step not in _BYTE_STEPS]
    sums = {
        step: [sum(party["by_step"].get(step, {}).get(way, 0) for party in parties) for way in WAYS] for step in steps
    }
    rows = [(step, _BYTE_STEPS.get(step, ""), *map(format_byte_count, sums[step])) for step in steps]
    rows.append(("all steps", "", *(format_byte_count(sum(column)) for column in zip(*sums.values(), strict=True))))
    return Table(
        "Bytes of the whole run, by step",
        ("step", "what is sent", *WAYS.values()),
        tuple(rows),
        "All parties together; what goes from one party to another is counted at both, sent and received.",
        text_columns=2,
    )
