"""The plots of a training on an encrypted model, from the summary to an inline SVG, or None where nothing is known."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from hekat.report.encrypted_model.measured import measured_words
from hekat.report.encrypted_model.parts import KINDS, kind_of_part
from hekat.report.page import svg
from hekat.report.page.drawing import WIDTH_IN, draw_legend, draw_title, style_axes
from hekat.report.page.role_bars import draw_role_bytes, draw_role_seconds

_COLOURS: Final = {**dict(zip(KINDS, svg.SERIES, strict=False)), "message": svg.PLAIN, "idle": svg.RULE}
_WAYS: Final = {"sent": "sent", "received": "received"}


def plot_loss(summary: Mapping[str, Any]) -> str | None:
    """The loss of the models that the owner was given, on its rows; None for fewer than two."""
    name = "log_loss" if summary["task"] == "classification" else "rmse"
    points = [(one["rounds_done"], one["metrics"][name]) for one in summary["opened"] if name in one["metrics"]]
    if len(points) < 2:
        return None
    is_plain = summary["settings"]["protection"] == "none"
    colour, kind = (svg.PLAIN, "NOT encrypted") if is_plain else (svg.ENCRYPTED, "encrypted")
    figure = svg.new_figure(WIDTH_IN, 3.2)
    axes = figure.subplots()
    axes.plot(*zip(*points, strict=True), "-o", color=colour, linewidth=1.8, markersize=4.5)
    axes.locator_params(axis="x", integer=True)
    axes.set_xlabel("rounds done")
    axes.set_ylabel("log-loss\n(nats per row)" if name == "log_loss" else "RMSE\n(unit of the labels)")
    axes.margins(x=0.04, y=0.12)
    style_axes(axes, grid="both")
    draw_title(figure, f"Models that the owner was given, on {measured_words(summary)}")
    draw_legend(figure, [(colour, "o", "-", f"trained together, {kind}")])
    return svg.to_inline_svg(figure, "encrypted-model-loss", "Loss of the models that the owner was given, by round")


def plot_time(summary: Mapping[str, Any]) -> str | None:
    """Seconds of each role as a bar of kinds of work, waiting among them."""
    stacks: dict[str, dict[str, float]] = {}
    for role, seconds in summary["seconds_by_role"].items():
        stacks[role] = dict.fromkeys(KINDS, 0.0)
        for part, value in seconds.items():
            stacks[role][kind_of_part(part)] += value
    return draw_role_seconds(stacks, KINDS, name="encrypted-model-time", colours=_COLOURS)


def plot_bytes(summary: Mapping[str, Any]) -> str | None:
    """Sealed bytes of each role."""
    traffic = summary["bytes"]["by_role"]
    stacks = {role: {way: found[way] for way in _WAYS} for role, found in traffic.items()}
    return draw_role_bytes(stacks, _WAYS, name="encrypted-model-bytes")
