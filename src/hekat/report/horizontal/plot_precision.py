"""The plot of bits per value against how good the model is, and how near its training loss is to the plain one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from hekat.report.horizontal.precision_sweep import compared_metric, compared_values, metric_words, plain_value
from hekat.report.number_text import describe_metric
from hekat.report.page import svg
from hekat.report.page.drawing import WIDTH_IN, Entry, draw_legend, draw_title, style_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# The least height of the scale, so that nobody takes rounding for a difference: 2 points, or 5 in a hundred.
_LEAST_POINTS, _LEAST_SHARE = 2.0, 0.05


def plot_precision(summary: Mapping[str, Any]) -> str | None:
    """The metric for each number of bits with the plain one as a line; beside it the convergence bias, if measured."""
    compared = summary.get("compared_bits", [])
    if not compared:
        return None
    biases = [item["convergence_bias"] for item in compared]
    has_bias = any(biases)
    figure = svg.new_figure(WIDTH_IN, 3.2)
    panels = figure.subplots(1, 1 + has_bias, squeeze=False)[0]
    _draw_metric(panels[0], summary)
    if has_bias:
        _draw_bias(panels[1], biases)
    own = summary["settings"].get("value_bits")
    for panel in panels:
        panel.set_xticks(range(len(compared)), [str(item["value_bits"]) for item in compared])
        panel.set_xlim(-0.5, len(compared) - 0.5)
        panel.set_xlabel("bits per value" + (f" (the job: {own})" if own is not None else ""))
    title, _ = metric_words(summary)
    draw_title(figure, f"Bits against {title}")
    entries: list[Entry] = [(svg.ENCRYPTED, "o", "-", "encrypted")]
    if plain_value(summary) is not None:
        entries.append((svg.PLAIN, "", "--", "not encrypted"))
    if has_bias and not all(biases):
        entries.append((svg.ENCRYPTED, "v", "none", "no difference at all (below the scale)"))
    draw_legend(figure, entries)
    return svg.to_inline_svg(figure, "bits", f"{title} and convergence bias by bits per value")


def _draw_metric(axes: Axes, summary: Mapping[str, Any]) -> None:
    place, name = compared_metric(summary)
    metric = describe_metric(name)
    factor = 100 if place and metric.percent else 1
    values, plain = [factor * value for value in compared_values(summary)], plain_value(summary)
    axes.plot(range(len(values)), values, "-o", color=svg.ENCRYPTED, markersize=6, linewidth=1.6)
    if plain is not None:
        axes.axhline(factor * plain, color=svg.PLAIN, linestyle="--", linewidth=2)
    seen = [*values, *([] if plain is None else [factor * plain])]
    least = _LEAST_POINTS if factor == 100 else _LEAST_SHARE * max(abs(value) for value in seen)
    middle, height = (max(seen) + min(seen)) / 2, max(1.15 * (max(seen) - min(seen)), least) or 1.0
    axes.set_ylim(middle - height / 2, middle + height / 2)
    axes.yaxis.set_major_formatter(lambda value, place: f"{value:.5g}")
    title, where = metric_words(summary)
    axes.set_ylabel(f"{title}{' in %' if factor == 100 else ''}\n{where}")
    style_axes(axes, grid="y")


def _draw_bias(axes: Axes, biases: list[float | None]) -> None:
    known = [100 * bias for bias in biases if bias]
    floor = min(known) / 3
    for marker, wanted in (("o", True), ("v", False)):
        chosen = [
            (place, 100 * bias if bias else floor)
            for place, bias in enumerate(biases)
            if bias is not None and bool(bias) is wanted
        ]
        if chosen:
            axes.plot(*zip(*chosen, strict=True), marker, color=svg.ENCRYPTED, markersize=6)
    axes.set_yscale("log")
    axes.set_ylim(floor / 1.5, 3 * max(known))
    axes.set_ylabel("difference of the final training\nloss from plain, in % (log scale)")
    style_axes(axes, grid="y")
