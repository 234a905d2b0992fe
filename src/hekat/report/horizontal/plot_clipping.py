"""The plot of clipped values and clipping bounds, round by round and tensor by tensor."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hekat.report.horizontal.clipping import clip_shares
from hekat.report.page import svg
from hekat.report.page.drawing import WIDTH_IN, Entry, draw_legend, draw_title, shorten_names, style_axes

_MARKERS = "osD^vP"


def plot_clipping(summary: Mapping[str, Any]) -> str | None:
    """The share of clipped values by round, all and by tensor; beside it the bound of each tensor."""
    history = summary.get("clipped_by_tensor")
    if not history or not history["rounds"]:
        return None
    rounds, tensors = history["rounds"], _chosen(history["tensors"])
    parts = [*history["tensors"], history["others"]]
    together = {
        key: [sum(column) for column in zip(*(part[key] for part in parts), strict=True)] for key in ("clipped", "of")
    }
    figure = svg.new_figure(WIDTH_IN, 3.3 + 0.2 * -(-len(tensors) // 2))
    shares, bounds = figure.subplots(1, 2)
    every = max(1, len(rounds) // 12)
    shares.plot(rounds, [100 * share for share in clip_shares(together)], "--", color=svg.INK, linewidth=2.2)
    entries: list[Entry] = [(svg.INK, "", "--", "all tensors together")]
    names = shorten_names([tensor["name"] for tensor in tensors], longest=44)
    for tensor, name, colour, marker in zip(tensors, names, svg.SERIES, _MARKERS, strict=False):
        look = {"color": colour, "marker": marker, "markersize": 4.5, "markevery": every, "linewidth": 1.3}
        shares.plot(rounds, [100 * share for share in clip_shares(tensor)], "-", **look)
        bounds.plot(rounds, tensor["bound"], "-", **look)
        entries.append((colour, marker, "-", name))
    shares.set_ylabel("values clipped, in %")
    shares.set_ylim(bottom=0, top=None if any(together["clipped"]) else 1)
    bounds.set_ylabel("clipping bound, log scale\n(of update × rows ÷ weight_max)")
    if any(bound > 0 for tensor in tensors for bound in tensor["bound"]):
        bounds.set_yscale("log", base=2)
    for panel in (shares, bounds):
        panel.set_xlabel("round")
        if len(rounds) > 1:
            panel.locator_params(axis="x", integer=True)
        else:
            panel.set_xticks(rounds)
        style_axes(panel, grid="both")
    draw_title(figure, "Clipped values and clipping bounds, round by round")
    draw_legend(figure, entries, columns=2)
    return svg.to_inline_svg(figure, "clipping", "Share of clipped values and clipping bound by round and tensor")


def _chosen(tensors: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """As many tensors as colours: first the ones with most clipped values, then the largest; in the model's order."""
    largest = sorted(tensors, key=lambda tensor: (-sum(tensor["clipped"]), -sum(tensor["of"])))[: len(svg.SERIES)]
    return [tensor for tensor in tensors if tensor in largest]
