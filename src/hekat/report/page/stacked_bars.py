"""Bars of parts that lie side by side: where the time or the bytes of each role go."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from hekat.report.page import svg
from hekat.report.page.drawing import TEXT_SIZE, WIDTH_IN, draw_legend, draw_title, shorten_names, style_axes

Stacks = Mapping[str, Mapping[str, float]]


def draw_stacks(
    stacks: Stacks,
    kinds: Mapping[str, str],
    *,
    title: str,
    unit: str,
    say: Callable[[float], str],
    tick: Callable[[float], str],
    name: str,
    description: str,
    columns: int,
    colours: Mapping[str, str] | None = None,
) -> str | None:
    """A bar for each entry of `stacks`, of parts by kind; None where all are empty.

    `kinds` are the parts in their order with what the legend says of each, `colours` their colours where they have a
    meaning of their own; `say` writes a bar's sum, `tick` a number of the axis, `unit` stands below it.
    """
    totals = [sum(stack.values()) for stack in stacks.values()]
    largest = max(totals, default=0.0)
    if not largest:
        return None
    shown = [kind for kind in kinds if any(stack.get(kind) for stack in stacks.values())]
    colours = colours or dict(zip(kinds, svg.SERIES, strict=False))
    figure = svg.new_figure(WIDTH_IN, 1.3 + 0.27 * len(stacks) + 0.22 * -(-len(shown) // columns))
    axes = figure.subplots()
    places = range(len(stacks))
    left = [0.0] * len(stacks)
    for kind in shown:
        widths = [stack.get(kind, 0.0) for stack in stacks.values()]
        axes.barh(places, widths, left=left, height=0.62, color=colours[kind])
        left = [start + width for start, width in zip(left, widths, strict=True)]
    for place, total in zip(places, totals, strict=True):
        axes.text(total + 0.01 * largest, place, say(total), va="center", size=TEXT_SIZE, color=svg.INK)
    axes.set_yticks(places, shorten_names(list(stacks), longest=32))
    axes.set_ylim(len(stacks) - 0.5, -0.5)
    axes.set_xlim(0, 1.13 * largest)
    axes.set_xlabel(unit)
    style_axes(axes, grid=None)
    axes.locator_params(axis="x", nbins=6)
    axes.xaxis.set_major_formatter(lambda value, place: tick(value))
    draw_title(figure, title)
    draw_legend(figure, [(colours[kind], "s", "none", kinds[kind]) for kind in shown], columns=columns)
    return svg.to_inline_svg(figure, name, description)
