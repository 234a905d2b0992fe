"""The plot of losses by step: iterations of trees, or epochs of a network."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from hekat.report.page import svg
from hekat.report.page.drawing import WIDTH_IN, Entry, draw_legend, draw_title, style_axes


def draw_losses(
    summary: Mapping[str, Any],
    steps: Sequence[Mapping[str, Any]],
    word: str,
    *,
    beside: str,
    of_classes: str = "log-loss",
) -> str | None:
    """The losses of training rows and of rows held out for stopping, step by step; None where none is known.

    `word` is what a step is called and its number's key; `beside` names the model that the run is compared with,
    `of_classes` the loss of a classification.
    """
    points = [(one[word], one["loss"]) for one in steps if one["loss"] is not None]
    if not points:
        return None
    is_encrypted = summary["settings"]["protection"] != "none"
    kind, colour = ("encrypted", svg.ENCRYPTED) if is_encrypted else ("NOT encrypted", svg.PLAIN)
    figure = svg.new_figure(WIDTH_IN, 3.2)
    axes = figure.subplots()
    every = max(1, len(points) // 20)
    axes.plot(*zip(*points, strict=True), "-o", color=colour, linewidth=1.8, markersize=4.5, markevery=every)
    entries: list[Entry] = [(colour, "o", "-", f"trained together, {kind}")]
    held = [(one[word], one["validation_loss"]) for one in steps if one["validation_loss"] is not None]
    if held:
        axes.plot(*zip(*held, strict=True), "--", color=svg.SERIES[1], linewidth=1.8)
        entries.append((svg.SERIES[1], "", "--", "rows held out for stopping"))
    compared = summary.get("compared") or {}
    if compared.get("centralised_loss") is not None:
        axes.plot(
            [points[-1][0]],
            [compared["centralised_loss"]],
            "D",
            color=svg.BOUND,
            markersize=8,
            markerfacecolor="none",
            markeredgewidth=1.6,
        )
        entries.append((svg.BOUND, "D", "none", f"{beside}, last {word}"))
    axes.locator_params(axis="x", integer=True)
    axes.set_xlabel(word)
    is_classes = summary["task"] == "classification"
    axes.set_ylabel(f"{of_classes}\n(nats per row)" if is_classes else "half the mean squared error")
    axes.margins(x=0.04, y=0.12)
    style_axes(axes, grid="both")
    draw_title(figure, f"Training loss by {word}")
    draw_legend(figure, entries)
    return svg.to_inline_svg(figure, "loss", f"Training loss by {word}")
