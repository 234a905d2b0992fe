"""Plots of where each role's time and bytes go."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from hekat.report import svg
from hekat.report.by_role import STEP_KINDS, WAYS, kind_seconds, way_bytes
from hekat.report.drawing import TEXT_SIZE, WIDTH_IN, draw_legend, draw_title, shorten_names, style_axes
from hekat.report.number_text import format_byte_count, format_seconds

_Stacks = Mapping[str, Mapping[str, float]]


def plot_role_time(summary: Mapping[str, Any]) -> str | None:
    """Seconds of each role as a bar of three kinds of steps."""
    return _draw(
        kind_seconds(summary),
        STEP_KINDS,
        title="Where each role's time goes",
        unit="seconds, summed over all rounds",
        say=format_seconds,
        tick=lambda value: f"{value:g}",
        name="role-time",
        description="Seconds of each role by kind of step",
        columns=1,
    )


def plot_role_bytes(summary: Mapping[str, Any]) -> str | None:
    """Sealed bytes of each role as a bar of the ways they went."""
    return _draw(
        way_bytes(summary),
        WAYS,
        title="What each role sends and receives",
        unit="sealed bytes of the whole run",
        say=lambda value: format_byte_count(round(value)),
        tick=lambda value: format_byte_count(round(value)),
        name="role-bytes",
        description="Sealed bytes of each role by the way they went",
        columns=2,
    )


def _draw(
    stacks: _Stacks,
    kinds: Mapping[str, str],
    *,
    title: str,
    unit: str,
    say: Callable[[float], str],
    tick: Callable[[float], str],
    name: str,
    description: str,
    columns: int,
) -> str | None:
    totals = [sum(stack.values()) for stack in stacks.values()]
    largest = max(totals, default=0.0)
    if not largest:
        return None
    shown = [kind for kind in kinds if any(stack.get(kind) for stack in stacks.values())]
    colours = dict(zip(kinds, svg.SERIES, strict=False))
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
