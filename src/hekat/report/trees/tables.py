"""The tables of boosted trees as rows of text."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from hekat.report.number_text import format_count, format_number, format_share
from hekat.report.table import Table, format_fixed_seconds
from hekat.report.vertical.tables import NOT_LEARNED

# So many iterations, and so many columns, are listed at most.
_MOST_ITERATIONS: Final = 12
_MOST_COLUMNS: Final = 20
_GAIN_NOTE: Final = "Gain: by how much the splits of a column lowered the objective, added up."


def iteration_table(summary: Mapping[str, Any]) -> Table | None:
    """Losses and seconds iteration by iteration; None where none was trained."""
    iterations = summary["iterations"]
    if not iterations:
        return None
    every = max(1, -(-(len(iterations) - 1) // (_MOST_ITERATIONS - 1)))
    is_held = any(one["validation_loss"] is not None for one in iterations)
    rows = [
        (
            format_count(one["iteration"]),
            *(_loss(one[key]) for key in ("loss", *(("validation_loss",) if is_held else ()))),
            NOT_LEARNED if one["seconds"] is None else format_fixed_seconds(one["seconds"]),
        )
        for place, one in enumerate(iterations)
        if not place % every or place == len(iterations) - 1
    ]
    held = ("loss of rows held out for stopping",) if is_held else ()
    return Table(
        "Training, iteration by iteration",
        ("iteration", "loss", *held, "seconds"),
        tuple(rows),
        "An iteration adds one tree, or one for each of three classes or more. Loss: the mean over training rows after "
        "it.",
    )


def _loss(value: float | None) -> str:
    return NOT_LEARNED if value is None else f"{value:.6g}"


def importance_by_owner(summary: Mapping[str, Any]) -> dict[str, tuple[float, int]]:
    """By owner the sum of the gains of its columns' splits, and their number; the largest gain first."""
    found: dict[str, tuple[float, int]] = {}
    for one in summary["importance"]:
        gain, splits = found.get(one["owner"], (0.0, 0))
        found[one["owner"]] = (gain + one["gain"], splits + one["splits"])
    return dict(sorted(found.items(), key=lambda item: -item[1][0]))


def are_shared(summary: Mapping[str, Any]) -> bool:
    """Whether all parties have the same columns, as across rows."""
    parties = {party["name"] for party in summary["parties"]}
    return not any(one["owner"] in parties for one in summary["importance"])


def _column_cells(one: Mapping[str, Any], total: float) -> tuple[str, ...]:
    shares = format_number(one["gain"]), format_share(one["gain"] / total), format_count(one["splits"])
    return (one["column"], *shares)


def importance_table(summary: Mapping[str, Any]) -> Table | None:
    """The columns that split nodes, the largest gain first, after their owners; None where nobody here knows them."""
    found = summary["importance"]
    if not found:
        return None
    total = sum(one["gain"] for one in found) or 1.0
    more = len(found) - _MOST_COLUMNS
    more_note = f" {more} more columns split some node." * (more > 0)
    if are_shared(summary):
        return Table(
            "What columns do for the trees",
            ("column", "gain", "share of all", "splits"),
            tuple(_column_cells(one, total) for one in found[:_MOST_COLUMNS]),
            f"{_GAIN_NOTE}{more_note}",
        )
    rows = [
        (owner, "all its columns", format_number(gain), format_share(gain / total), format_count(splits))
        for owner, (gain, splits) in importance_by_owner(summary).items()
    ]
    rows += [(one["owner"], *_column_cells(one, total)) for one in found[:_MOST_COLUMNS]]
    return Table(
        "What columns do for the trees",
        ("owner", "column", "gain", "share of all", "splits"),
        tuple(rows),
        f"{_GAIN_NOTE} The names of another party's columns stay there; it knows them by these numbers.{more_note}",
        text_columns=2,
    )
