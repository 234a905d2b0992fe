"""What the plots of a report have in common: sizes, title, legend, quiet axes, names letter by letter."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

from hekat.report.page import svg

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Colour, marker, line, text of one line of a legend.
Entry = tuple[str, str, Literal["-", "--", ":", "none"], str]

WIDTH_IN = 8.2
TEXT_SIZE = 9


def spread_panels(figure: Figure) -> None:
    """Room between panels for the outer letters of their tick labels."""
    from matplotlib.layout_engine import ConstrainedLayoutEngine

    engine = figure.get_layout_engine()
    if isinstance(engine, ConstrainedLayoutEngine):
        engine.set(wspace=0.08)


def escape_name(name: str) -> str:
    """A name as matplotlib shows it letter by letter: dollar signs would begin a formula."""
    return name.replace("$", r"\$")


def shorten_names(names: Sequence[str], *, longest: int) -> list[str]:
    """Names for an axis or a legend: where one is too long, without what all of them begin and end with."""
    shown = list(names)
    if len(shown) > 1 and max(map(len, shown)) > longest:
        start = _common_start(shown)
        shown = [f"…{name.removeprefix(start)}" for name in shown] if len(start) > 1 else shown
    if len(shown) > 1 and max(map(len, shown)) > longest:
        end = _common_start([name[::-1] for name in shown])[::-1]
        shown = [f"{name.removesuffix(end)}…" for name in shown] if len(end) > 1 else shown
    half = longest // 2
    return [escape_name(name if len(name) <= longest else f"{name[:half]}…{name[-half + 1 :]}") for name in shown]


def _common_start(names: Sequence[str]) -> str:
    first, last = min(names), max(names)
    end = next((place for place, (a, b) in enumerate(zip(first, last, strict=False)) if a != b), len(first))
    return first[:end]


def draw_title(figure: Figure, text: str) -> None:
    """Above the plot, at its left edge."""
    figure.suptitle(text, x=0.002, ha="left", size=TEXT_SIZE + 2, weight="bold", color=svg.INK)


def draw_legend(figure: Figure, entries: Sequence[Entry], *, columns: int = 0) -> None:
    """One line below the plot, or as many as `columns` asks for."""
    from matplotlib.lines import Line2D

    handles = [
        Line2D([], [], color=colour, marker=marker, linestyle=line, linewidth=2, label=text,
               markersize=12 if marker == "_" else 7, markeredgewidth=2.4 if marker == "_" else 1.0)
        for colour, marker, line, text in entries
    ]  # fmt: skip
    figure.legend(
        handles=handles,
        loc="outside lower left",
        ncols=columns or len(handles),
        frameon=False,
        fontsize=TEXT_SIZE,
        labelcolor=svg.INK,
    )


def style_axes(axes: Axes, *, grid: Literal["both", "x", "y"] | None) -> None:
    """Quiet axes: no box, a thin grid below the data, text in the page's colour."""
    axes.set_facecolor("none")
    for side in ("top", "right", "left", "bottom"):
        axes.spines[side].set_visible(side == "bottom")
        axes.spines[side].set_color(svg.RULE)
    axes.set_axisbelow(True)
    if grid is not None:
        axes.grid(True, axis=grid, color=svg.RULE, linewidth=0.6)
    axes.tick_params(colors=svg.INK, labelsize=TEXT_SIZE, length=0, which="both")
    axes.xaxis.label.set(color=svg.INK, size=TEXT_SIZE)
    axes.yaxis.label.set(color=svg.INK, size=TEXT_SIZE)
