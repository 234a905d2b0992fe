"""The page of attacks on masked updates, from results/attacks.json."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pages.markdown import table_head, table_line

NAME = "attacks"
SCORES = {"ssim": "SSIM", "mssim": "MSSIM", "vif": "VIF", "uqi": "UQI"}

Row = Mapping[str, Any]
_KNOWN = (
    "FedML-HE (its figure 14) shows DLG on this LeNet: noise from 10 % by map on, and at random from 42.5 % on. It "
    "prints no numbers beside its pictures. Its attack is not described beyond DLG; the naive attacker is the setting "
    "that gives its result here."
)


def render_attacks(content: Mapping[str, Any] | None, place: str) -> list[str]:
    """The page's lines; `place` names processor, cores and date."""
    if content is None:
        return [f"**Not measured yet**: `{NAME}`. `make bench-attacks DATA=FOLDER` does it."]
    rows = {part: [row for row in content["rows"] if row["part"] == part] for part in _PARTS}
    versions = ", ".join(f"{name} {version}" for name, version in content["versions"].items())
    lines = [
        "**All scores are lower bounds on leakage.** Another attack, more steps or better guesses can find more, and "
        "never less. `hekat attack` does the same to [a module of your own](../how_to/attack.md).",
        "",
        f"On {place}, one core, {versions}. DLG by L-BFGS with a line search, {content['steps']:,} steps, "
        f"{content['restarts']} start{'s' if content['restarts'] > 1 else ''} a picture, the lowest objective kept. "
        "The net is DLG's LeNet of 88,648 values and 100 classes, weights U(-0.5, 0.5); pictures: "
        f"{content['pictures']}. The map is `exact`, of 16 other pictures. Labels are read, never given.",
        "",
    ]
    for part, render in _PARTS.items():
        if rows[part]:
            lines += render(rows[part])
    return lines


def _pictures(rows: Sequence[Row]) -> list[str]:
    pictures = list(dict.fromkeys(row["picture"] for row in rows))
    pairs = list(dict.fromkeys((row["mask"], row["attacker"]) for row in rows))
    found = {(row["picture"], row["mask"], row["attacker"]): row for row in rows}
    names = " / ".join(pictures)
    head = ["masked", "of all values", "attacker", *(f"{title} {names}" for title in SCORES.values()), "label", "CPU s"]
    lines = [
        "## Pictures at each mask: figure 14 and our table",
        "",
        _KNOWN,
        "The adaptive attacker compares visible values alone; the naive one, alike in all else, takes hidden values "
        "for zeros. Scores count between floor, the mean of ten random pictures, and ceiling, the picture as a JPEG of "
        "quality 75.",
        "",
        *table_head(head),
    ]
    for bound in ("floor", "ceiling"):
        some = [next(row for row in rows if row["picture"] == picture)[bound] for picture in pictures]
        lines.append(table_line(bound, "", "", *(_scores(some, name) for name in SCORES), "", ""))
    for mask, attacker in pairs:
        some = [found[picture, mask, attacker] for picture in pictures]
        share = some[0]["masked"] / some[0]["values"]
        read = sum(row["label_read"] for row in some)
        seconds = " / ".join(f"{row['cpu_s']:.0f}" for row in some)
        scores = [_scores(some, name) for name in SCORES]
        lines.append(table_line(mask, f"{share:.3f}", attacker, *scores, f"{read} of {len(some)}", seconds))
    return [*lines, "", _UQI, ""]


_UQI = (
    "sewar's MSSIM takes two of its five scales at 32 pixels. Its UQI puts means where the formula of Wang and Bovik "
    "has sums, so contrast hardly counts; both stand here since FedML-HE prints them."
)


def _map(rows: Sequence[Row]) -> list[str]:
    lines = [
        "## Where a map is sensitive: figure 13 in numbers",
        "",
        "Of each tensor: its share of all values and of all sensitivity, and how much of it a 10 % mask takes.",
        "",
        *table_head(["tensor", "values", "of all values", "of sensitivity", "masked of it"]),
    ]
    for row in rows:
        shares = [f"{100 * row[name]:.1f}%" for name in ("of_all_values", "of_sensitivity", "masked_of_it")]
        lines.append(table_line(f"`{row['tensor']}`", f"{row['values']:,}", *shares))
    return [*lines, ""]


def _labels(rows: Sequence[Row]) -> list[str]:
    lines = [
        "## Labels",
        "",
        "Of one row's update, from the visible part of the last layer: classes whose rows are hidden whole are what is "
        "left where no visible value tells the label.",
        "",
        *table_head(["map", "masked", "labels read", "read wrongly", "classes left otherwise"]),
    ]
    for row in rows:
        read = f"{row['read']} of {row['pictures']}"
        lines.append(table_line(f"`{row['mode']}`", f"{row['share']:g}", read, row["wrong"], _left(row)))
    return [*lines, ""]


def _left(row: Row) -> str:
    return f"one of {row['classes_left']}" if row["classes_left"] > 1 else ""


def _texts(rows: Sequence[Row]) -> list[str]:
    lines = [
        "## Texts",
        "",
        f"{rows[0]['texts']} made sentences of 20 tokens by Zipf's law, vocabulary 5,000, width 64, one layer of "
        "attention; the map is `random`, of other sentences. Tokens are the rows of the embedding's gradient that are "
        "not zero; rare ones lie beyond rank 1,000. A map cannot rank a token that it has not seen, so "
        "[embeddings are masked whole](../decisions/0092-attackers-know-the-mask.md) unless a job says otherwise: then "
        "no token is read.",
        "",
        *table_head(["masked by map", "tokens read", "rare tokens read", "false tokens"]),
    ]
    for row in rows:
        shares = [f"{100 * row[name]:.0f}%" for name in ("tokens_read", "rare_read")]
        lines.append(table_line(f"{row['share']:g}", *shares, row["false_tokens"]))
    return [*lines, ""]


_PARTS = {"picture": _pictures, "map": _map, "labels": _labels, "texts": _texts}


def _scores(rows: Sequence[Row], name: str) -> str:
    return " / ".join(f"{row[name]:.2f}" if name in row else "nothing visible" for row in rows)
