"""Parties that a run lost on its way, and whose updates the sums of its rounds include, in words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from hekat.report.number_text import count_in_words, join_names, pluralise

# Of more parties a sentence gives the range of their counts, and not the count of each.
_MOST_COUNTED_BY_NAME = 20
# Of the comparison of final models, and of scores that are summed at the end.
_LAST_STEPS = ("final", "validation")


def dropout_rounds(summary: Mapping[str, Any]) -> dict[str, str]:
    """When each lost party was lost: "in round 5", "before round 1", "after the last round"; trees have iterations."""
    word = _word(summary)
    return {loss["party"]: _when(loss, word) for loss in summary.get("lost", [])}


def _word(summary: Mapping[str, Any]) -> str:
    return "iteration" if summary.get("protocol") == "horizontal_trees" else "round"


def dropout_headline(summary: Mapping[str, Any]) -> str | None:
    """One sentence for the head of a report; None where nobody was lost."""
    lost = dropout_rounds(summary)
    if not lost:
        return None
    left = len(summary["parties"]) - len(lost)
    told = join_names([f"{party} {when}" for party, when in lost.items()])
    others = f"{count_in_words(left, 'party')} went on without {'it' if len(lost) == 1 else 'them'}"
    return f"Lost on the way: {told}. {others}."


def dropout_sentences(summary: Mapping[str, Any]) -> list[str]:
    """Who was lost, where and why; then whose updates the sums include. Empty where nobody was lost."""
    losses = summary.get("lost", [])
    if not losses:
        return []
    when = dropout_rounds(summary)
    found = [
        f"{loss['party']} was lost {when[loss['party']]}, in step {loss['step']}: {loss['reason']}." for loss in losses
    ]
    names = [party["name"] for party in summary["parties"]]
    if sample_sentences(summary):
        return found
    sums = [
        f"{_rounds(entry, _word(summary))}: {_who(names, entry['parties'])}" for entry in summary.get("included", [])
    ]
    if sums:
        found.append(f"Whose updates are in the sums: {'; '.join(sums)}.")
    return found


def sample_sentences(summary: Mapping[str, Any]) -> list[str]:
    """How often each party was in a sum, and rounds without one of their sample; empty where all train always."""
    size, entries = summary["settings"].get("sample_size"), summary.get("included", [])
    if size is None or not entries:
        return []
    names = [party["name"] for party in summary["parties"]]
    by_round = {number: entry["parties"] for entry in entries for number in range(entry["first"], entry["last"] + 1)}
    counts = {name: sum(name in parties for parties in by_round.values()) for name in names}
    each = [f"{name} in {count}" for name, count in counts.items()]
    if len(names) > _MOST_COUNTED_BY_NAME:
        each = [f"each of them in {min(counts.values())} to {max(counts.values())}"]
    rounds = f"{len(by_round)} {pluralise(len(by_round), 'round')}"
    found = [f"Each round has the updates of {size} of {len(names)} parties; of {rounds}, {join_names(each)}."]
    short = [f"round {number} ({len(parties)})" for number, parties in by_round.items() if len(parties) < size]
    if short:
        found.append(f"Rounds with fewer, since a party of their sample was lost: {join_names(short)}.")
    return found


def _rounds(entry: Mapping[str, Any], word: str) -> str:
    if entry["first"] == entry["last"]:
        return f"{word} {entry['first']}"
    return f"{word}s {entry['first']} to {entry['last']}"


def _who(names: Sequence[str], included: Sequence[str]) -> str:
    missing = [name for name in names if name not in included]
    everybody = f"all {len(names)} {pluralise(len(names), 'party')}"
    if not missing:
        return everybody
    return f"{everybody} but {join_names(missing)}" if len(missing) <= len(included) else join_names(included)


def _when(loss: Mapping[str, Any], word: str) -> str:
    if loss["round"] is not None:
        return f"in {word} {loss['round']}"
    return f"after the last {word}" if loss["step"].startswith(_LAST_STEPS) else f"before {word} 1"
