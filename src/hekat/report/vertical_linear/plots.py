"""The plots of a vertical regression, from the summary to an inline SVG, or None where nothing was measured."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from hekat.report.page import svg
from hekat.report.page.drawing import WIDTH_IN, Entry, draw_legend, draw_title, style_axes
from hekat.report.page.role_bars import draw_role_seconds
from hekat.report.vertical.plots import PART_COLOURS
from hekat.report.vertical_linear.findings import is_encrypted
from hekat.report.vertical_linear.tables import PARTS

_PART_COLOURS: Final = {**PART_COLOURS, "products": svg.SERIES[1]}


def plot_loss(summary: Mapping[str, Any]) -> str | None:
    """The guest's loss by epoch, and the last one of centralised training where that was trained."""
    points = [(epoch["epoch"], epoch["loss"]) for epoch in summary["epochs"] if epoch["loss"] is not None]
    if not points:
        return None
    kind, colour = ("encrypted", svg.ENCRYPTED) if is_encrypted(summary) else ("NOT encrypted", svg.PLAIN)
    figure = svg.new_figure(WIDTH_IN, 3.2)
    axes = figure.subplots()
    every = max(1, len(points) // 20)
    axes.plot(*zip(*points, strict=True), "-o", color=colour, linewidth=1.8, markersize=4.5, markevery=every)
    entries: list[Entry] = [(colour, "o", "-", f"trained together, {kind}: loss at the guest")]
    central = None if summary["compared"] is None else summary["compared"]["centralised_loss"]
    if central is not None:
        axes.plot(
            [points[-1][0]], [central], "D", color=svg.BOUND, markersize=8, markerfacecolor="none", markeredgewidth=1.6
        )
        entries.append((svg.BOUND, "D", "none", "centralised, last epoch"))
    axes.locator_params(axis="x", integer=True)
    axes.set_xlabel("epoch")
    unit = "nats per row" if summary["task"] == "classification" else "standardised target squared"
    form = "Taylor loss" if summary["task"] == "classification" else "half the mean squared residual"
    axes.set_ylabel(f"training loss: {form}\n({unit})")
    axes.margins(x=0.04, y=0.12)
    style_axes(axes, grid="both")
    draw_title(figure, "Training loss by epoch")
    draw_legend(figure, entries)
    return svg.to_inline_svg(figure, "loss", "Training loss by epoch")


def plot_exactness(summary: Mapping[str, Any]) -> str | None:
    """The largest error of each epoch's steps and the bound, on a logarithmic scale."""
    checks = [check for check in summary["exactness"] if check["bound"] > 0]
    if not checks:
        return None
    figure = svg.new_figure(WIDTH_IN, 3.0)
    axes = figure.subplots()
    places = range(1, len(checks) + 1)
    axes.plot(places, [check["bound"] for check in checks], "_", color=svg.BOUND, markersize=11, markeredgewidth=2.4)
    found = [(place, check["largest_error"]) for place, check in zip(places, checks, strict=True)]
    seen = [(place, error) for place, error in found if error > 0]
    if seen:
        axes.plot(*zip(*seen, strict=True), "o", color=svg.ENCRYPTED, markersize=5)
    axes.set_yscale("log")
    axes.locator_params(axis="x", integer=True)
    axes.set_xlabel("checked epochs, in order")
    axes.set_ylabel("error of a gradient's entry\n(no unit)")
    style_axes(axes, grid="both")
    draw_title(figure, "Gradients under encryption against exact arithmetic")
    draw_legend(
        figure,
        [(svg.ENCRYPTED, "o", "none", "largest error found"), (svg.BOUND, "_", "none", "bound stated beforehand")],
    )
    return svg.to_inline_svg(figure, "vertical-exactness", "Largest error and stated bound of every checked epoch")


def plot_time(summary: Mapping[str, Any]) -> str | None:
    """Seconds of each role as a bar of parts, waiting among them."""
    return draw_role_seconds(summary["seconds_by_part"], PARTS, name="vertical-time", colours=_PART_COLOURS)
