"""Which tensors had values clipped, how many, and where their bounds went, in a table."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hekat.report.number_text import format_count, format_number, format_share
from hekat.report.table import Table


def clip_table(summary: Mapping[str, Any]) -> Table | None:
    """A line for each tensor; None where nothing was clipped or the summary does not tell tensors apart."""
    history = summary.get("clipped_by_tensor")
    if not history or not history["rounds"]:
        return None
    rounds = history["rounds"]
    rows = [
        (
            tensor["name"],
            *_counts(tensor, rounds),
            format_number(tensor["bound"][0]),
            format_number(tensor["bound"][-1]),
        )
        for tensor in history["tensors"]
    ]
    left = history["others"]["tensors"]
    if left:
        rows.append((f"{format_count(left)} other tensors", *_counts(history["others"], rounds), "–", "–"))
    which = "first and only" if len(rounds) == 1 else "first"
    return Table(
        "Clipped values by tensor",
        ("tensor", "values sent", "clipped", "share", "most in a round", f"bound, {which} round", "bound, last round"),
        tuple(rows),
        "All parties and rounds. A value is clipped where update × rows of its party ÷ weight_max is beyond the bound "
        "of its tensor.",
    )


def clip_shares(counts: Mapping[str, Any]) -> list[float]:
    """The share of values that was clipped in each round; 0 where none were sent."""
    return [clipped / of if of else 0.0 for clipped, of in zip(counts["clipped"], counts["of"], strict=True)]


def _counts(counts: Mapping[str, Any], rounds: list[int]) -> tuple[str, str, str, str]:
    clipped, of, shares = sum(counts["clipped"]), sum(counts["of"]), clip_shares(counts)
    worst = max(range(len(shares)), key=shares.__getitem__)
    if not clipped:
        return format_count(of), "none", "–", "–"
    most = f"{format_share(shares[worst])} in round {rounds[worst]}"
    return format_count(of), format_count(clipped), format_share(clipped / of), most
