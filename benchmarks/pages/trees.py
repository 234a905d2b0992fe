"""The figures of boosted trees, from results/trees.json, trees_rows.json and trees-accuracy.json."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from pages.markdown import table_head, table_line
from trees.columns import describe_row
from trees.papers import flash_table

NAMES = ("trees", "trees_rows", "trees-accuracy")
IMAGE = "trees-time.svg"
PARTS = ("encrypt", "sums", "decrypt", "plain", "sealing", "rest")

Content = dict[str, Any]
_FIGURES: Mapping[str, Callable[[float], str]] = {
    "tree_s": lambda value: f"{value:.2f} s a tree",
    "mb": lambda value: f"{value:,.0f} MB a tree",
    "peak_gib": lambda value: f"{value:.1f} GiB at most, all parties",
    "times_clear": lambda value: f"{value:.2f} times the same in the clear",
    "seconds": lambda value: f"{value:.1f} s",
}
_UNITS = {"tree_s": "s", "mb": "MB", "peak_gib": "GiB", "times_clear": "times", "seconds": "s"}


def render_trees(contents: Mapping[str, Content | None], place: Callable[[Content], str]) -> list[str]:
    """The page's lines; `place` names processor, cores and date of one file's content."""
    columns, rows, accuracy = (contents[name] for name in NAMES)
    missing = [f"`{name}`" for name in NAMES if contents[name] is None]
    lines = [f"**Not measured yet**: {', '.join(missing)}.", ""] if missing else []
    if columns or rows:
        lines += _aims([*(columns["rows"] if columns else []), *(rows["rows"] if rows else [])])
    if columns:
        lines += [*_trees(columns, place(columns)), *_parts(columns), *_predictions(columns), *_papers(columns)]
    if rows:
        lines += _across_rows(rows, place(rows))
    if accuracy:
        lines += _accuracy(accuracy, place(accuracy))
    return lines


def _aims(rows: list[Content]) -> list[str]:
    """A line for each aim of each row."""
    lines = ["## To reach", "", *table_head(["work", "measured", "to reach", "met", "known elsewhere, other machines"])]
    for row in rows:
        for name, most in row["to_reach"].items():
            met = "yes" if row["met"][name] else "**missed**"
            known = row["known_elsewhere"].get(name, "")
            lines.append(
                table_line(_name(row), _FIGURES[name](row[name]), f"at most {most:g} {_UNITS[name]}", met, known)
            )
    return [*lines, ""]


def _trees(content: Content, place: str) -> list[str]:
    turns = max(row["turns"] for row in _measured(content))
    lines = [
        "## A tree across columns",
        "",
        f"On {place}: depth 6, rows made up, labels of two classes; the first number of columns is the guest's. Roles "
        "are played on this machine, one after the other, each on all cores; every message is sealed. Trees were held "
        "against the plain booster's first, node by node, hosts' own splits among them. Seconds are the median over a "
        f"run's trees but the first, and over turns, with the least and the most where there are {turns}. What a party "
        "works leaves out its waits, and a host's is the busiest host's; *processor* is the time of all cores and all "
        "parties together. In the clear is the same protocol with protection `none`, its messages sealed as well; "
        f"LightGBM {content['versions']['lightgbm']} has all columns in one table, and the same bins, depth, leaves "
        "and rate. Bytes are a tree's, with seals. `lattice` has 128 bits of security, Paillier with keys of 2048 bits "
        "about 112.",
        "",
        *table_head(
            [
                "columns and protection", "a tree", "least to most", "guest works", "a host works", "processor",
                "in the clear", "its processor", "times", "LightGBM", "its processor", "guest sends",
                "hosts send", "in all",
            ]
        ),
    ]  # fmt: skip
    for row in _measured(content):
        lines.append(
            table_line(
                _name(row),
                _seconds(row["tree_s"]),
                _spread(row),
                *(_seconds(row[name]) for name in ("guest_s", "host_s", "cpu_s", "clear_s", "clear_cpu_s")),
                f"{row['times_clear']:.1f}",
                _seconds(row["lightgbm_s"]),
                _seconds(row["lightgbm_cpu_s"]),
                *(_megabytes(row[name]) for name in ("guest_mb", "hosts_mb", "mb")),
            )
        )
    return [*lines, ""]


def _parts(content: Content) -> list[str]:
    lines = [
        "### Where the time goes",
        "",
        f"![Seconds of a tree by part](images/{IMAGE})",
        "",
        "*Encrypt* and *decrypt* are the guest's; *sums* are the hosts' products, with the fresh encryptions of zero "
        "and the noise that hide which rows they add; *plain* is the search of splits, the guest's own columns and "
        "the way of rows; *sealing* is the channel's; the *rest* has no clock of its own: packing, hashing and "
        "recording messages, and their way between threads. Means over a turn in the middle, all parties.",
        "",
        *table_head(["columns and protection", "a tree", *PARTS]),
    ]
    for row in _measured(content):
        parts = (_seconds(row["parts_s"][part]) for part in PARTS)
        lines.append(table_line(_name(row), _seconds(row["tree_s"]), *parts))
    return [*lines, ""]


def _predictions(content: Content) -> list[str]:
    rows = [row for row in content["rows"] if row["part"] == "prediction"]
    if not rows:
        return []
    lines = [
        "## A joint prediction",
        "",
        "Every owner answers all its splits for all rows, and the guest reads the scores; they equal the plain "
        "booster's to the last bit.",
        "",
        *table_head(["rows and columns", "trees", "all rows", "least to most", "processor", "sent, all parties"]),
    ]
    for row in rows:
        cells = (_seconds(row["seconds"]), _spread(row), _seconds(row["cpu_s"]), _megabytes(row["mb"]))
        lines.append(table_line(row["what"], row["trees"], *cells))
    return [*lines, ""]


def _papers(content: Content) -> list[str]:
    rows = [row for row in content["rows"] if row["part"] == "papers"]
    known = content["known_elsewhere"]
    flash, flbooster = known["flash"], known["flbooster"]
    lines = ["## Beside the papers", ""]
    for row in rows:
        lines += [
            f"{_name(row)[0].upper()}{_name(row)[1:]}, an epoch of one tree, by the steps of FLASH's Table 1. FLASH's "
            f"figures are known elsewhere, not measured here: {flash['shape']}, {flash['hardware']}; it says neither "
            "depth nor bins, nor how many trees an epoch has.",
            "",
            *table_head(["step", "in the clear", "encrypted", "FLASH, clear", "FLASH, encrypted"]),
        ]
        for step in flash_table(row):
            names = ("clear_s", "encrypted_s", "flash_clear_s", "flash_encrypted_s")
            lines.append(table_line(step["step"], *(_seconds(step[name]) for name in names)))
        whole = (_seconds(row["clear_s"]), f"{_seconds(row['tree_s'])}, {row['times_clear']:.2f} times")
        lines += [table_line("the whole tree", *whole, "", f"{flash['times_in_all']:.2f} times in all"), ""]
    lines += [
        f"Seconds an epoch, known elsewhere: {flbooster['source']}; {flbooster['hardware']}. None of these shapes was "
        "measured here, and half of each data set's columns are the guest's.",
        "",
        *table_head(["data", "rows x columns", "key bits", "FATE", "HAFLO", "FLBooster"]),
    ]
    for one in flbooster["rows"]:
        seconds = (f"{one[name]:,.0f} s" for name in ("fate_s", "haflo_s", "flbooster_s"))
        lines.append(table_line(one["data"], one["shape"], one["key_bits"], *seconds))
    return [*lines, ""]


def _across_rows(content: Content, place: str) -> list[str]:
    first = content["rows"][0]
    lines = [
        "## A tree across rows",
        "",
        f"On {place}: {first['what']}, depth 6, {first['bins']} bins, every party with an equal share of the rows. All "
        f"{first['turns']} turns of both protections ended with the same trees, and trees of gradients that are hardly "
        "rounded are the plain booster's, node by node. Six roles compute one after the other here; on machines of "
        "their own the parties compute at once, and what the busiest of them works counts, with the aggregator's.",
        "",
        *table_head(
            [
                "protection", "a tree", "least to most", "a party works", "aggregator works", "processor", "times",
                "times by processor", "LightGBM", "parties send", "aggregator sends",
            ]
        ),
    ]  # fmt: skip
    for row in content["rows"]:
        lines.append(
            table_line(
                f"`{row['protection']}`",
                _seconds(row["tree_s"]),
                _spread(row),
                *(_seconds(row[name]) for name in ("party_s", "aggregator_s", "cpu_s")),
                f"{row['times_clear']:.2f}",
                f"{row['times_clear_cpu']:.2f}",
                _seconds(row["lightgbm_s"]),
                _megabytes(row["parties_mb"]),
                _megabytes(row["aggregator_mb"]),
            )
        )
    protections = [row["protection"] for row in content["rows"]]
    steps = sorted({step for row in content["rows"] for step in row["steps_s"]})
    lines += ["", *table_head(["step of a tree, all roles", *(f"`{name}`" for name in protections)])]
    for step in steps:
        lines.append(table_line(step, *(_milliseconds(row["steps_s"].get(step)) for row in content["rows"])))
    return [*lines, ""]


def _accuracy(content: Content, place: str) -> list[str]:
    training, versions = content["training"], content["versions"]
    lines = [
        "## Held-out rows beside LightGBM",
        "",
        f"On {place}: {training['max_iter']} iterations, depth {training['max_depth']}, {training['max_bins']} bins, "
        f"mean over {content['seeds']} draws of a fifth of the rows. Hekat rounds gradients to "
        f"{training['gradient_bits']} bits and joins small bins of the columns that a host has; *exact* does neither. "
        f"LightGBM {versions['lightgbm']} and scikit-learn {versions['scikit-learn']} get the same bins, depth, rate, "
        "leaves and rows in a leaf. Better by is a difference of AUC, or the part by which RMSE is lower; the spread "
        "is the difference's over draws, in the metric's own units.",
        "",
        *table_head(
            [
                "data",
                "rows x columns",
                "",
                "Hekat",
                "exact",
                "LightGBM",
                "scikit-learn",
                "better by",
                "spread",
                "to reach",
                "met",
            ]
        ),
    ]
    for row in content["rows"]:
        met = "yes" if row["better_than_lightgbm"] >= -row["allowed"] else "**missed**"
        lines.append(
            table_line(
                row["data"],
                f"{row['rows']:,} x {row['columns']}",
                row["metric"],
                *(f"{row[name]:.4f}" for name in ("hekat", "exact", "lightgbm", "scikit_learn")),
                f"{row['better_than_lightgbm']:+.4f}",
                f"{row['spread']:.4f}",
                f"{-row['allowed']:g}",
                met,
            )
        )
    return [*lines, ""]


def _measured(content: Content) -> Iterator[Content]:
    """The rows of trained trees."""
    return (row for row in content["rows"] if "parts_s" in row)


def _name(row: Content) -> str:
    """What a row is of, whichever file has it."""
    if row.get("part") == "prediction":
        return f"joint prediction, {row['what']}, {row['trees']} trees"
    if "hide_partition" in row:
        return describe_row(row)
    return f"across rows, {row['what']}, {row['bins']} bins, {row['protection']}"


def _spread(row: Content) -> str:
    """The least and the most of several turns."""
    return f"{row['least_s']:.2f} to {row['most_s']:.2f} s" if row["turns"] > 1 else ""


def _seconds(value: float) -> str:
    return f"{value:.3f} s" if value < 0.1 else f"{value:.2f} s"


def _milliseconds(value: float | None) -> str:
    return "" if value is None else f"{1e3 * value:,.0f} ms"


def _megabytes(value: float) -> str:
    return f"{value:,.1f} MB"
