"""The tables of a split network as rows of text, for the terminal and for the page alike."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from hekat.report.how_played import clock_sentence
from hekat.report.number_text import format_count, format_share, pluralise
from hekat.report.part_table import part_table
from hekat.report.table import Table, format_fixed_seconds
from hekat.report.vertical.tables import NOT_LEARNED
from hekat.report.vertical_network.findings import is_sealed, is_to_compare

# So many epochs are listed at most: the first, the last, and some at equal distances.
_MOST_EPOCHS: Final = 12
PARTS: Final = {
    "intersection": "finding the common rows",
    "keys": "making keys, once",
    "encrypt": "encrypting weights, features and slopes",
    "products": "products of ciphertexts with own matrices",
    "decrypt": "opening own shares of products",
    "plain": "ordinary arithmetic: bottoms, top, shares",
    "others": "messages, files, checks",
    "idle": "waiting for the others, who take turns",
}
_BOTTOMS: Final = {
    "frozen": "a fixed map of its columns",
    "source": "its columns themselves",
    "trained": "a network that trains",
}


def epoch_table(summary: Mapping[str, Any]) -> Table | None:
    """Losses, cut numbers and seconds epoch by epoch; None where no epoch was trained."""
    epochs = summary["epochs"]
    if not epochs:
        return None
    every = max(1, -(-(len(epochs) - 1) // (_MOST_EPOCHS - 1)))
    is_held = any(one["validation_loss"] is not None for one in epochs)
    parties = list(dict.fromkeys(party for one in epochs for party in one["clipped_share"]))
    rows = [
        (
            format_count(one["epoch"]),
            *(_loss(one[key]) for key in ("loss", *(("validation_loss",) if is_held else ()))),
            *(_share(one["clipped_share"].get(party)) for party in parties),
            NOT_LEARNED if one["seconds"] is None else format_fixed_seconds(one["seconds"]),
        )
        for place, one in enumerate(epochs)
        if not place % every or place == len(epochs) - 1
    ]
    held = ("loss of rows held out for stopping",) if is_held else ()
    by_taylor = " It is the Taylor form of the log-loss." if is_sealed(summary["settings"]) else ""
    return Table(
        "Training, epoch by epoch",
        ("epoch", "loss at the guest", *held, *(f"cut at {party}" for party in parties), "seconds"),
        tuple(rows),
        f"Loss: averaged over the epoch's batches; the guest alone learns it.{by_taylor} Cut: the share of a "
        "party's numbers that lay beyond the range that products take; with more than a few, standardise columns or "
        "lower the rates.",
    )


def learned_table(summary: Mapping[str, Any]) -> Table:
    """What each party learned of another, as far as figures tell it."""
    if is_sealed(summary["settings"]):
        return _learned_of_sealed(summary)
    guest = summary["settings"]["guest"]
    rows = [
        (
            f"{guest} of the features of {one['host']}",
            f"{format_count(one['directions'])} of {format_count(one['features'])} directions, but for a rotation",
        )
        for one in summary["learned"]
    ]
    rows += [(f"{host} of the labels of {guest}", _of_labels(summary)) for host in summary["settings"]["hosts"]]
    if summary["settings"]["host_bottom"] == "trained":
        others = "all others" if len(summary["settings"]["hosts"]) > 1 else guest
        told = "something, by slopes, which nothing bounds: WAIVED by the job"
        rows += [(f"{host} of the columns of {others}", told) for host in summary["settings"]["hosts"]]
    several = len(summary["settings"]["hosts"]) > 1 and not is_to_compare(summary["settings"])
    return Table(
        "What each party learned of another",
        ("who, of what", "how much"),
        tuple(rows),
        "Features: what a host's bottom makes of its columns; here "
        f"{_BOTTOMS[summary['settings']['host_bottom']]}." + (" Only their sum over hosts opened." if several else ""),
    )


def _learned_of_sealed(summary: Mapping[str, Any]) -> Table:
    """The same where losses alone open, and scores of test rows to their receivers."""
    settings, tested = summary["settings"], summary["test_rows"]
    guest = settings["guest"]
    rows = [(f"{guest} of the columns of {host}", "the mean loss of each epoch") for host in settings["hosts"]]
    rows += [(f"{host} of the labels of {guest}", _of_labels(summary)) for host in settings["hosts"]]
    if tested is not None:
        told = f"scores of {format_count(tested)} {pluralise(tested, 'row')}, to 2^-12"
        rows += [(f"{receiver} of what was tested", told) for receiver in settings["receivers"]]
    return Table(
        "What each party learned of another",
        ("who, of what", "how much"),
        tuple(rows),
        "Weights, units and slopes lay in shares, and neither party has the weights.",
    )


def _of_labels(summary: Mapping[str, Any]) -> str:
    settings = summary["settings"]
    if settings["host_bottom"] != "trained":
        return "nothing but when training ended"
    if settings.get("label_privacy") is None:
        return "all that gradients tell: single labels, WAIVED by the job"
    return f"no more than replaced labels tell, epsilon {settings['label_privacy']:g}"


def time_table(summary: Mapping[str, Any]) -> Table:
    """Seconds of every role by part, waiting among them."""
    return part_table(summary["seconds_by_part"], PARTS, clock_sentence(summary))


def _loss(value: float | None) -> str:
    return NOT_LEARNED if value is None else f"{value:.6g}"


def _share(value: float | None) -> str:
    return NOT_LEARNED if value is None else format_share(value)
