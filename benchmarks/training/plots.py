"""Plots of trained curves: loss by round, encrypted beside plain, and what bits cost in accuracy; written as SVG."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("svg")
from matplotlib import pyplot
from matplotlib.ticker import MaxNLocator

# The ids of a drawing, else drawn anew each time.
matplotlib.rcParams["svg.hashsalt"] = "hekat"

# Okabe and Ito's colours, told apart by the colour-blind; marks differ too.
_STYLES: Mapping[tuple[str, int | None], tuple[str, str, str, str]] = {
    ("none", None): ("#e69f00", "D", "-", "not encrypted"),
    ("lattice", 32): ("#009e73", "^", "--", "encrypted, 32 bits"),
    ("lattice", 16): ("#0072b2", "o", "--", "encrypted, 16 bits"),
    ("lattice", 8): ("#cc79a7", "s", ":", "encrypted, 8 bits"),
}
_WIDTH_IN, _HEIGHT_IN = 8.0, 3.2


def plot_curves(rows: Sequence[Mapping[str, Any]], path: Path) -> bool:
    """Training loss and test accuracy by round for one workload's fedavg runs; False where there is no curve."""
    runs = {key: row for row in rows if _is_shown(row) and (key := (row["protection"], row["value_bits"])) in _STYLES}
    if not runs or max(len(row["train_loss"]) for row in runs.values()) < 2:
        return False
    figure, (loss, accuracy) = pyplot.subplots(1, 2, figsize=(_WIDTH_IN, _HEIGHT_IN))
    for key, (colour, marker, line, label) in _STYLES.items():
        if key not in runs:
            continue
        rounds = range(1, len(runs[key]["train_loss"]) + 1)
        style = {"color": colour, "marker": marker, "linestyle": line, "markersize": 4, "linewidth": 1.2}
        loss.plot(rounds, runs[key]["train_loss"], label=label, **style)
        accuracy.plot(rounds, [100 * value for value in runs[key]["accuracy"]], **style)
    first = next(iter(runs.values()))
    for axes in (loss, accuracy):
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    _finish(loss, "round", "training loss (nats)")
    _finish(accuracy, "round", "test accuracy (%)")
    figure.suptitle(f"{first['name']}, {first['parties']} parties, {first['values']:,} values", fontsize=11)
    figure.legend(loc="lower center", ncols=4, frameon=False, fontsize=9)
    _save(figure, path)
    return True


def plot_times(workloads: Sequence[Sequence[Mapping[str, Any]]], path: Path) -> bool:
    """Seconds of one fedavg round beside local training, by protection and bits, for every workload."""
    bars = [
        (f"{rows[0]['name']}\n{_name(row)}", row["median_exchange_s"], _colour(row))
        for rows in workloads
        for row in rows
        if _is_shown(row)
    ]
    if not bars:
        return False
    figure, axes = pyplot.subplots(figsize=(_WIDTH_IN, 0.6 + 0.3 * len(bars)))
    labels, seconds, colours = zip(*bars, strict=True)
    axes.barh(range(len(bars)), seconds, color=colours)
    axes.set_yticks(range(len(bars)), [label.replace("\n", ", ") for label in labels], fontsize=8)
    axes.set_xscale("log")
    axes.invert_yaxis()
    for place, value in enumerate(seconds):
        axes.annotate(f" {value:.0f} s" if value >= 10 else f" {value:.2g} s", (value, place), va="center", fontsize=8)
    axes.margins(x=0.15)
    _finish(axes, "seconds a round beside local training, all parties together, one machine (log scale)", "")
    axes.set_title("What a round takes beside local training", fontsize=11)
    _save(figure, path)
    return True


def plot_sizes(rows: Sequence[Mapping[str, Any]], path: Path) -> bool:
    """Seconds of one aggregation by model size (FedML-HE, Table 3) for plain, lattice and CKKS."""
    marks = {
        "plain": ("#e69f00", "D", "not encrypted"),
        "lattice": ("#0072b2", "o", "lattice"),
        "ckks": ("#cc79a7", "s", "CKKS (TenSEAL)"),
    }
    figure, axes = pyplot.subplots(figsize=(_WIDTH_IN * 0.75, _HEIGHT_IN))
    drawn = False
    for scheme, (colour, marker, label) in marks.items():
        points = [(row["values"], row["total_s"]) for row in rows if row["scheme"] == scheme and row.get("total_s")]
        if points:
            values, seconds = zip(*points, strict=True)
            axes.loglog(values, seconds, color=colour, marker=marker, markersize=4, linewidth=1.2, label=label)
            drawn = True
    if not drawn:
        pyplot.close(figure)
        return False
    _finish(axes, "values in the model (log scale)", "seconds (log scale)")
    axes.set_title("One aggregation of three clients, one core", fontsize=11)
    axes.legend(frameon=False, fontsize=9)
    _save(figure, path)
    return True


def _is_shown(row: Mapping[str, Any]) -> bool:
    return row.get("algorithm") == "fedavg" and not row["is_nudged"]


def _name(row: Mapping[str, Any]) -> str:
    if row["protection"] == "none":
        return "not encrypted"
    return f"{row['protection'].capitalize()}, {row['value_bits']} bits"


def _colour(row: Mapping[str, Any]) -> str:
    return {"none": "#e69f00", "lattice": "#0072b2", "paillier": "#d55e00"}[row["protection"]]


def _finish(axes: Any, x_label: str, y_label: str) -> None:
    axes.set_xlabel(x_label, fontsize=9)
    axes.set_ylabel(y_label, fontsize=9)
    axes.tick_params(labelsize=8)
    axes.grid(visible=True, color="#d3d9df", linewidth=0.6)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)


def _save(figure: Any, path: Path) -> None:
    bottom = 0.12 if figure.legends else 0.0
    figure.tight_layout(rect=(0, bottom, 1, 1))
    path.parent.mkdir(parents=True, exist_ok=True)
    # A white ground, since a page may be dark; no date, so that the same figures give the same file.
    figure.savefig(path, facecolor="white", metadata={"Date": None})
    pyplot.close(figure)
