"""The plot of where a tree's time goes: a bar for each measured training, its parts side by side; as SVG."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("svg")
from matplotlib import pyplot

from trees.columns import describe_row

matplotlib.rcParams["svg.hashsalt"] = "hekat"

# Okabe and Ito's colours, told apart by the colour-blind; the order is that of the parts.
COLOURS: Mapping[str, str] = {
    "encrypt": "#0072b2",
    "sums": "#e69f00",
    "decrypt": "#009e73",
    "plain": "#cc79a7",
    "sealing": "#56b4e9",
    "rest": "#bbbbbb",
}
_WIDTH_IN, _BAR_IN, _OTHER_IN = 9.0, 0.34, 1.5


def plot_parts(content: Mapping[str, Any], path: Path) -> None:
    """Draw the content of results/trees.json: parts as a share of a tree, whose seconds stand behind the bar."""
    rows = [row for row in content["rows"] if "parts_s" in row]
    figure, axes = pyplot.subplots(figsize=(_WIDTH_IN, _BAR_IN * len(rows) + _OTHER_IN))
    places = range(len(rows))
    sums = [sum(row["parts_s"][part] for part in COLOURS) for row in rows]
    left = [0.0] * len(rows)
    for part, colour in COLOURS.items():
        shares = [100 * row["parts_s"][part] / total for row, total in zip(rows, sums, strict=True)]
        axes.barh(places, shares, left=left, height=0.7, color=colour, label=part)
        left = [before + share for before, share in zip(left, shares, strict=True)]
    for place, row in zip(places, rows, strict=True):
        axes.text(101, place, f"{row['tree_s']:.2f} s", va="center", fontsize=8)
    axes.set_yticks(places, [describe_row(row) for row in rows], fontsize=8)
    axes.invert_yaxis()
    axes.set_xlim(0, 100)
    axes.set_xlabel("% of a tree's seconds, all parties on one machine", fontsize=9)
    axes.tick_params(axis="x", labelsize=8)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    axes.set_title("Where the seconds of one boosted tree go, by part (behind the bars: the whole tree)", fontsize=9)
    figure.legend(loc="lower center", ncols=len(COLOURS), frameon=False, fontsize=8)
    figure.tight_layout(rect=(0, 0.09, 1, 1))
    path.parent.mkdir(parents=True, exist_ok=True)
    # A white ground, since a page may be dark; no date, so that the same figures give the same file.
    figure.savefig(path, format="svg", facecolor="white", metadata={"Date": None})
    pyplot.close(figure)
