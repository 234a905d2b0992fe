"""What the scores of attacks say in plain words: how readable the rows came back, mask by mask."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from hekat.report.number_text import join_names

FINDINGS_FORMAT = 1
# How far a score lies from its floor to its ceiling, and what that looks like; the first that is reached.
_LEVELS = (
    (0.7, "the picture"),
    (0.4, "readable, with noise"),
    (0.15, "outlines and colours"),
)
_NOISE = "noise to this attack"
_CELL_LEVELS = ((0.9, "the row"), (0.5, "most of the row"), (0.2, "some of the row"))
_NO_CELLS = "little to this attack"
HIDDEN = "nothing is visible"

LOWER_BOUNDS = (
    "All scores are lower bounds on leakage: another attack, more steps or better guesses of what rows look like can "
    "find more, and never less. A low score is no proof of protection."
)


def first_score(findings: Mapping[str, Any]) -> str:
    """The score that the words go by: SSIM of pictures, the share of tokens or of cells."""
    if findings["rows"]["picture_shape"]:
        return "ssim"
    return "tokens" if findings["rows"]["tokens"] else "cells"


def trials_of(findings: Mapping[str, Any], mask: str) -> list[Mapping[str, Any]]:
    """The finished trials of a mask."""
    return [trial for trial in findings["trials"] if trial["mask"] == mask]


def scores_of(findings: Mapping[str, Any], mask: str, name: str) -> list[Mapping[str, float]]:
    """One score of every row that was attacked at a mask."""
    return [row[name] for trial in trials_of(findings, mask) for row in trial["scores"] if name in row]


def looks_like(score: Mapping[str, float] | None, *, is_picture: bool) -> str:
    """A row's score in words."""
    if score is None:
        return HIDDEN
    levels, otherwise = (_LEVELS, _NOISE) if is_picture else (_CELL_LEVELS, _NO_CELLS)
    span = score["ceiling"] - score["floor"]
    share = (score["value"] - score["floor"]) / span if span > 0 else 0.0
    return next((words for least, words in levels if share >= least), otherwise)


def worst_of(findings: Mapping[str, Any], mask: str) -> str:
    """The most readable row of a mask in words: a mask that lets one row through lets rows through."""
    scores = scores_of(findings, mask, first_score(findings))
    best = max(scores, key=lambda score: score["value"] - score["floor"], default=None)
    return looks_like(best, is_picture=bool(findings["rows"]["picture_shape"]))


def verdict(findings: Mapping[str, Any]) -> str:
    """One sentence: at which masks rows came back readable."""
    readable = [words for _, words in (*_LEVELS[:2], *_CELL_LEVELS[:2])]
    names = [mask["name"] for mask in findings["masks"] if trials_of(findings, mask["name"])]
    through = [name for name in names if worst_of(findings, name) in readable]
    hidden = [name for name in names if worst_of(findings, name) == HIDDEN]
    rest = [name for name in names if name not in (*through, *hidden)]
    who = f"The {findings['attack']['attacker']} attacker"
    parts = [f"{who} brought back readable rows {_at(through)}"] if through else []
    if rest:
        found = "none" if through else f"{who} found nothing readable"
        parts.append(found + f" {_at(rest)}, which is no proof that there is none to be found")
    if hidden:
        parts.append(f"{_at(hidden)} nothing is visible" if parts else f"Nothing is visible {_at(hidden)}")
    return "; ".join(parts) + "."


def _at(names: Sequence[str]) -> str:
    """Without a mask and at p=0.1,map."""
    places = ["without a mask" if name == "none" else f"at {name}" for name in names]
    return join_names(places)
