"""Parties that a run lost on its way, and whose updates each round's sum includes, in words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from hekat.report.number_text import count_in_words, join_names, pluralise


def lost_rounds(summary: Mapping[str, Any]) -> dict[str, str]:
    """When each lost party was lost: "in round 5", or "before round 1"."""
    return {
        loss["party"]: "before round 1" if loss["round"] is None else f"in round {loss['round']}"
        for loss in summary.get("lost", [])
    }


def loss_headline(summary: Mapping[str, Any]) -> str | None:
    """One sentence for the head of a report; None where nobody was lost."""
    lost = lost_rounds(summary)
    if not lost:
        return None
    left = len(summary["parties"]) - len(lost)
    told = join_names([f"{party} {when}" for party, when in lost.items()])
    others = f"{count_in_words(left, 'party')} went on without {'it' if len(lost) == 1 else 'them'}"
    return f"Lost on the way: {told}. {others}."


def loss_sentences(summary: Mapping[str, Any]) -> list[str]:
    """Who was lost, where and why; then whose updates the sums include. Empty where nobody was lost."""
    losses = summary.get("lost", [])
    if not losses:
        return []
    when = lost_rounds(summary)
    found = [
        f"{loss['party']} was lost {when[loss['party']]}, in step {loss['step']}: {loss['reason']}." for loss in losses
    ]
    names = [party["name"] for party in summary["parties"]]
    sums = [f"{_rounds(entry)}: {_who(names, entry['parties'])}" for entry in summary.get("included", [])]
    if sums:
        found.append(f"Whose updates are in the sums: {'; '.join(sums)}.")
    return found


def _rounds(entry: Mapping[str, Any]) -> str:
    if entry["first"] == entry["last"]:
        return f"round {entry['first']}"
    return f"rounds {entry['first']} to {entry['last']}"


def _who(names: Sequence[str], included: Sequence[str]) -> str:
    missing = [name for name in names if name not in included]
    everybody = f"all {len(names)} {pluralise(len(names), 'party')}"
    if not missing:
        return everybody
    return f"{everybody} but {join_names(missing)}" if len(missing) <= len(included) else join_names(included)
