"""The plot of epsilon, round by round, with the limits that sites set."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hekat.report.page import svg
from hekat.report.page.drawing import WIDTH_IN, Entry, draw_legend, draw_title, style_axes


def plot_privacy(summary: Mapping[str, Any]) -> str | None:
    """Epsilon of this job by round, against the claim's coalition and one party; the lowest limit as a line."""
    found = summary.get("privacy") or {}
    points = [one for one in found.get("by_round", []) if one["epsilon"] is not None]
    if not points:
        return None
    figure = svg.new_figure(WIDTH_IN, 3.2)
    axes = figure.subplots()
    rounds = [one["round"] for one in points]
    every = max(1, len(points) // 20)
    look: dict[str, Any] = {"linewidth": 1.8, "markersize": 4.5, "markevery": every}
    axes.plot(rounds, [one["epsilon"] for one in points], "-o", color=svg.ENCRYPTED, **look)
    axes.plot(rounds, [one["epsilon_at_one"] for one in points], "--s", color=svg.SERIES[1], **look)
    count = found["colluders"]
    entries: list[Entry] = [
        (svg.ENCRYPTED, "o", "-", f"proved, against {count} {'party' if count == 1 else 'parties together'}"),
        (svg.SERIES[1], "s", "--", "proved, against one party by itself"),
    ]
    limits = [one["limit"] for one in found.get("budgets", [])]
    if limits:
        axes.axhline(min(limits), color=svg.BOUND, linewidth=1.6)
        entries.append((svg.BOUND, "", "-", "a site's limit, for all jobs"))
    if len(rounds) > 1:
        axes.locator_params(axis="x", integer=True)
    else:
        axes.set_xticks(rounds)
    axes.set_ylim(bottom=0)
    axes.set_xlabel("round")
    axes.set_ylabel(f"epsilon of this job (nats)\nat delta = {found['delta']:g}")
    style_axes(axes, grid="both")
    draw_title(figure, f"What the rounds may tell of one {found['unit']}")
    draw_legend(figure, entries)
    return svg.to_inline_svg(figure, "privacy", "Epsilon of the job by round, and the lowest limit of a site")
