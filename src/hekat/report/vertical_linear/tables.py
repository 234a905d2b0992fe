"""The tables of a vertical regression as rows of text, for the terminal and for the page alike."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from hekat.report.how_played import clock_sentence
from hekat.report.number_text import (
    format_count,
    format_number,
    format_share,
)
from hekat.report.part_table import part_table
from hekat.report.table import Table, format_fixed_seconds
from hekat.report.vertical.tables import NOT_LEARNED

# So many epochs are listed at most: the first, the last, and some at equal distances.
_MOST_EPOCHS: Final = 12
ALL_HOSTS: Final = "all hosts together"
# What each role's time is shown as, in order, and what happens in it.
PARTS: Final = {
    "intersection": "finding the common rows",
    "keys": "making key pairs, once",
    "encrypt": "encrypting scores and residuals, adding them",
    "products": "gradients and the loss, computed on ciphertexts",
    "decrypt": "opening masked values",
    "plain": "ordinary arithmetic: weights, scores, masks",
    "others": "messages, files, checks",
    "idle": "waiting for the others, who take turns",
}


def epoch_table(summary: Mapping[str, Any]) -> Table | None:
    """Loss, seconds and gradient bounds epoch by epoch; None where no epoch was trained."""
    epochs = summary["epochs"]
    if not epochs:
        return None
    every = max(1, -(-(len(epochs) - 1) // (_MOST_EPOCHS - 1)))
    parties = list(dict.fromkeys(party for epoch in epochs for party in epoch["gradient_error_bound"]))
    rows = [
        (
            format_count(epoch["epoch"]),
            NOT_LEARNED if epoch["loss"] is None else f"{epoch['loss']:.6g}",
            NOT_LEARNED if epoch["seconds"] is None else format_fixed_seconds(epoch["seconds"]),
            *(_bound(epoch["gradient_error_bound"].get(party)) for party in parties),
        )
        for place, epoch in enumerate(epochs)
        if not place % every or place == len(epochs) - 1
    ]
    return Table(
        "Training, epoch by epoch",
        ("epoch", "loss at the guest", "seconds", *(f"gradient bound of {party}" for party in parties)),
        tuple(rows),
        "Loss: of the weights in progress, averaged over the epoch's batches; the guest alone learns it. Gradient "
        "bound: the farthest that fixed point can put an entry of a step's gradient from exact arithmetic.",
    )


def exactness_table(summary: Mapping[str, Any]) -> Table | None:
    """The largest measured error of each epoch beside its bound; None where nothing was checked."""
    if not summary["exactness"]:
        return None
    rows = [
        (
            check["step"],
            format_number(check["largest_error"]),
            format_number(check["bound"]),
            format_share(check["largest_error"] / check["bound"]) if check["bound"] else NOT_LEARNED,
        )
        for check in summary["exactness"]
    ]
    return Table("Measured against the bound", ("steps", "largest error", "bound", "share of it"), tuple(rows))


def learned_with_total(summary: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """What gradients tell each party, and all hosts together where there are several."""
    hosts = [found for found in summary["learned"] if found["party"] in summary["settings"]["hosts"]]
    if len(hosts) < 2 or not any(found["equations"] for found in hosts):
        return list(summary["learned"])
    total = {"party": ALL_HOSTS, "equations": sum(found["equations"] for found in hosts), "rows": hosts[0]["rows"]}
    return [*summary["learned"], {**total, "waived": any(found["waived"] for found in hosts)}]


def learned_table(summary: Mapping[str, Any]) -> Table:
    """What every party's own gradients tell of the others, as equations over rows."""
    rows = [
        (
            found["party"],
            _limit(found),
            format_count(found["equations"]),
            format_count(found["rows"]),
            format_share(found["equations"] / found["rows"]) if found["rows"] else NOT_LEARNED,
        )
        for found in learned_with_total(summary)
    ]
    note = (
        "A party that sees its own gradients learns a linear equation for each of its columns in each batch: a host on "
        "the labels, the guest on the hosts' scores. Batches are drawn once and kept: later epochs tell the same sums. "
        "The limit is for each host alone; hosts that put their gradients together have the sum of their equations."
        if any(found["equations"] for found in summary["learned"])
        else "No party sees a gradient or a plain weight: there are no equations."
    )
    return Table(
        "What gradients tell of labels and columns",
        ("party", "limit", "equations", "rows", "equations over rows"),
        tuple(rows),
        note,
        text_columns=2,
    )


def _limit(found: Mapping[str, Any]) -> str:
    if not found["equations"]:
        return "sees no gradient"
    if found["party"] == ALL_HOSTS:
        return "none: each host is counted alone"
    return "a tenth, WAIVED by the job" if found["waived"] else "a tenth"


def _bound(value: float | None) -> str:
    return NOT_LEARNED if value is None else format_number(value)


def time_table(summary: Mapping[str, Any]) -> Table:
    """Seconds of every role by part, waiting among them."""
    return part_table(summary["seconds_by_part"], PARTS, clock_sentence(summary))
