"""The plot of links: seconds a round by link, a panel for each model, a line for each way of averaging; as SVG."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("svg")
from matplotlib import pyplot

matplotlib.rcParams["svg.hashsalt"] = "hekat"

# Okabe and Ito's colours, told apart by the colour-blind; marks differ too.
_STYLES: Mapping[str, tuple[str, str, str, str]] = {
    "plain": ("#e69f00", "D", "-", "plain float32"),
    "hekat": ("#0072b2", "o", "--", "Hekat, lattice"),
    "tenseal": ("#cc79a7", "s", ":", "TenSEAL, as NVIDIA FLARE sends it"),
    "paillier": ("#d55e00", "^", "-.", "Hekat, Paillier in batches"),
    "secaggplus": ("#009e73", "v", "-.", "Flower's SecAgg+"),
}
_WIDTH_IN, _HEIGHT_IN = 9.0, 3.6


def plot_links(content: Mapping[str, Any], path: Path) -> None:
    """Draw the content of results/network-links.json."""
    rows = content["rows"]
    models = list(dict.fromkeys(row["model"] for row in rows))
    links = list(dict.fromkeys(row["link"] for row in rows))
    figure, panels = pyplot.subplots(1, len(models), figsize=(_WIDTH_IN, _HEIGHT_IN), sharey=True, squeeze=False)
    shown: dict[str, Any] = {}
    for axes, model in zip(panels[0], models, strict=True):
        for way, (colour, marker, line, label) in _STYLES.items():
            own = [row for row in rows if (row["model"], row["way"]) == (model, way)]
            points = [(links.index(row["link"]), row["round_s"]) for row in own]
            if points:
                style = {"color": colour, "marker": marker, "linestyle": line, "markersize": 5, "linewidth": 1.2}
                (shown[label],) = axes.plot(*zip(*points, strict=True), **style)
        values = next(row["values"] for row in rows if row["model"] == model)
        axes.set_title(f"{model}\n{values:,} values", fontsize=10)
        axes.set_yscale("log")
        axes.set_xticks(range(len(links)), [link.replace(", ", "\n") for link in links], fontsize=7)
        axes.set_xlabel("link of every role", fontsize=9)
        axes.tick_params(labelsize=8)
        axes.tick_params(axis="x", labelsize=7)
        axes.margins(x=0.1)
        axes.grid(visible=True, color="#d3d9df", linewidth=0.6)
        for side in ("top", "right"):
            axes.spines[side].set_visible(False)
    panels[0][0].set_ylabel("seconds a round, no training\n(log scale)", fontsize=9)
    figure.suptitle(f"A round of {content['parties']} parties over links of a stated speed", fontsize=11)
    figure.legend(shown.values(), shown.keys(), loc="lower center", ncols=3, frameon=False, fontsize=8)
    figure.tight_layout(rect=(0, 0.13, 1, 1))
    path.parent.mkdir(parents=True, exist_ok=True)
    # A white ground, since a page may be dark; no date, so that the same figures give the same file.
    figure.savefig(path, format="svg", facecolor="white", metadata={"Date": None})
    pyplot.close(figure)
