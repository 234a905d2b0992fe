"""Tables of attacks: scores by mask between floor and ceiling, labels, and how it was attacked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import fmean
from typing import Any

from hekat.report.attack.findings import first_score, scores_of, trials_of, worst_of
from hekat.report.number_text import format_count, format_number, format_share
from hekat.report.table import Table

_TITLES = {
    "ssim": "SSIM",
    "mssim": "MSSIM",
    "vif": "VIF",
    "uqi": "UQI",
    "cells": "cells read",
    "tokens": "tokens read",
    "rare": "rare tokens read",
}
_NONE = "–"


def score_names(findings: Mapping[str, Any]) -> list[str]:
    """The scores that any row has, in their order."""
    rows = [row for trial in findings["trials"] for row in trial["scores"]]
    return [name for name in _TITLES if any(name in row for row in rows)]


def score_title(name: str) -> str:
    """The head of a score's column."""
    return _TITLES[name]


def format_score(value: float) -> str:
    """Two decimals, so that columns line up."""
    return f"{value:.2f}".replace("-", "−")


def score_table(findings: Mapping[str, Any]) -> Table:
    """A line for each mask: the mean of every score over the attacked rows, labels read, and words."""
    names = score_names(findings)
    rows = []
    for mask in findings["masks"]:
        trials = trials_of(findings, mask["name"])
        if not trials:
            continue
        share = format_share(mask["masked"] / mask["values"])
        cells = [_mean(scores_of(findings, mask["name"], name), "value") for name in names]
        rows.append((mask["name"], worst_of(findings, mask["name"]), share, *cells, _labels(trials)))
    for title, key in (("floor: random rows", "floor"), (_ceiling(findings), "ceiling")):
        every = [[s for mask in findings["masks"] for s in scores_of(findings, mask["name"], name)] for name in names]
        rows.append((title, "", "", *(_mean(scores, key) for scores in every), ""))
    return Table(
        "What came back at each mask",
        ("mask", "the most readable row", "values masked", *map(score_title, names), "labels read"),
        tuple(rows),
        note="Scores are means over the attacked rows; 1 is the row itself. A score says something only between its "
        "floor and its ceiling."
        + (" UQI of sewar, as in FedML-HE, hardly sees contrast, so its floor is high." if "uqi" in names else ""),
        text_columns=2,
    )


def attack_table(findings: Mapping[str, Any]) -> Table:
    """What was attacked, and how."""
    attack, rows, model = findings["attack"], findings["rows"], findings["model"]
    shown: list[tuple[str, str]] = [
        ("model", f"{model['function']}, {format_count(model['values'])} trained values"),
        ("file of the model's code, SHA-256", model["code"]),
        ("weights", findings["weights"]),
        ("rows", f"{rows['file']}, {format_count(rows['count'])} rows of shape {_shape(rows['shape'])}"),
        ("rows of each update", "; ".join(", ".join(map(str, taken)) for taken in rows["updates"])),
        ("range of a cell", "not told" if rows["box"] is None else f"{rows['box'][0]:g} to {rows['box'][1]:g}"),
        (
            "attack",
            f"{attack['name']}, {format_count(attack['steps'])} steps, {format_count(attack['restarts'])} starts",
        ),
        ("attacker", _ATTACKERS[attack["attacker"]]),
        ("labels", "given to the attacker" if attack["labels"] == "known" else "read by the attacker, else guessed"),
        ("update", attack["update"]),
        ("seed", str(attack["seed"])),
    ]
    shown += [(f"mask {mask['name']}", mask["about"]) for mask in findings["masks"]]
    return Table("What was attacked, and how", ("setting", "value"), tuple(shown), text_columns=2)


def trial_table(findings: Mapping[str, Any]) -> Table:
    """A line for each update and mask: the objective of each start, and seconds."""
    rows = tuple(
        (
            ", ".join(map(str, trial["rows"])),
            trial["mask"],
            _objective(trial["objective"]),
            "; ".join(map(_objective, trial["objectives"])) or _NONE,
            f"{trial['cpu_seconds']:.1f}",
        )
        for trial in findings["trials"]
    )
    return Table(
        "How far each attack came",
        ("rows", "mask", "objective kept", "of each start", "CPU seconds"),
        rows,
        note="The start with the lowest objective is kept, whatever it looks like: an attacker sees no scores.",
        text_columns=2,
    )


def machine_table(findings: Mapping[str, Any]) -> Table:
    """Machine and versions."""
    rows = [(name, str(value)) for name, value in findings["machine"].items()]
    rows += [(f"{name} version", value) for name, value in findings["versions"].items()]
    return Table("Machine and versions", ("what", "value"), tuple(rows), text_columns=2)


_ATTACKERS = {
    "adaptive": "adaptive: knows the mask, and compares visible values alone",
    "naive": "naive: takes masked values for zeros; the setting of FedML-HE, as we read it",
}


def _ceiling(findings: Mapping[str, Any]) -> str:
    return "ceiling: the row as a JPEG" if first_score(findings) == "ssim" else "ceiling: the row itself"


def _mean(scores: Sequence[Mapping[str, float]], key: str) -> str:
    return format_score(fmean(score[key] for score in scores)) if scores else _NONE


def _labels(trials: Sequence[Mapping[str, Any]]) -> str:
    """The share of labels that were read; where not one could be, among how many classes it lies."""
    shares = [trial["labels_read"] for trial in trials if trial["labels_read"] is not None]
    if not shares:
        return f"one of {format_count(min(trial['label_candidates'] for trial in trials))}"
    return format_share(sum(shares) / len(trials))


def _objective(value: float | None) -> str:
    return _NONE if value is None else format_number(value)


def _shape(sizes: Sequence[int]) -> str:
    return " x ".join(map(str, sizes))
