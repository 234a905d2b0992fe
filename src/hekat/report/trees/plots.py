"""The plots of boosted trees, from the summary to an inline SVG, or None where nothing is known."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from hekat.report.number_text import format_count
from hekat.report.page import svg
from hekat.report.page.drawing import (
    TEXT_SIZE,
    WIDTH_IN,
    Entry,
    draw_legend,
    draw_title,
    escape_name,
    shorten_names,
    style_axes,
)
from hekat.report.page.loss_plot import draw_losses
from hekat.report.trees.tables import are_shared

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_MOST_BARS: Final = 15
# Deeper nodes are counted, not drawn: more would be too small to read.
_DEEPEST: Final = 3
_LONGEST_NAME: Final = 22


def plot_loss(summary: Mapping[str, Any]) -> str | None:
    """The loss by iteration, of training rows and of rows held out for stopping."""
    return draw_losses(summary, summary["iterations"], "iteration", beside="plain trees on the joined rows")


def plot_importance(summary: Mapping[str, Any]) -> str | None:
    """The columns of the largest gains as bars in the colours of their owners."""
    found = summary["importance"][:_MOST_BARS]
    if not found:
        return None
    owners, shared = _colours(summary), are_shared(summary)
    figure = svg.new_figure(WIDTH_IN, 0.9 + 0.26 * len(found))
    axes = figure.subplots()
    names = shorten_names(
        [one["column"] if shared else f"{one['owner']}: {one['column']}" for one in found], longest=34
    )
    places = list(range(len(found)))[::-1]
    axes.barh(
        places,
        [one["gain"] for one in found],
        color=[owners.get(one["owner"], svg.SERIES[0]) for one in found],
        height=0.7,
    )
    axes.set_yticks(places, names)
    axes.set_xlabel("gain of all splits")
    style_axes(axes, grid="x")
    draw_title(figure, "What columns do for the trees")
    shown = [name for name in owners if any(one["owner"] == name for one in found)]
    draw_legend(figure, [(owners[name], "s", "none", escape_name(name)) for name in shown[:6]])
    return svg.to_inline_svg(figure, "importance", "Gain of each column, by owner")


def draw_trees(summary: Mapping[str, Any]) -> list[str]:
    """The first trees, a drawing for each; no more levels than can be read."""
    owners = _colours(summary)
    return [_draw_tree(tree, owners, number) for number, tree in enumerate(summary["trees"])]


def plot_first_tree(summary: Mapping[str, Any]) -> str | None:
    """The first tree alone."""
    drawn = draw_trees({**summary, "trees": summary["trees"][:1]})
    return drawn[0] if drawn else None


def _colours(summary: Mapping[str, Any]) -> dict[str, str]:
    """A colour for each party, in the order of the job; colours repeat where there are more parties than colours."""
    return {party["name"]: svg.SERIES[place % len(svg.SERIES)] for place, party in enumerate(summary["parties"])}


def _draw_tree(tree: Mapping[str, Any], owners: Mapping[str, str], number: int) -> str:
    nodes: Sequence[Mapping[str, Any]] = tree["nodes"]
    depth = min(_DEEPEST, _depth(nodes))
    figure = svg.new_figure(WIDTH_IN, 1.0 + 0.95 * (depth + 1))
    axes = figure.subplots()
    axes.set_axis_off()
    axes.set_xlim(0, 1)
    axes.set_ylim(-depth - 0.45, 0.45)
    _draw_node(axes, nodes, 0, 0, (0.0, 1.0), owners)
    of = "" if tree["target"] is None else f", for class {escape_name(tree['target'])}"
    draw_title(figure, f"The tree of iteration {tree['iteration']}{of}")
    shown = {node["owner"] for node in nodes if node["owner"] is not None}
    entries: list[Entry] = [
        (colour, "s", "none", escape_name(name)) for name, colour in owners.items() if name in shown
    ]
    draw_legend(figure, [*entries[:6], (svg.INK, "", "none", "left: the test holds")])
    return svg.to_inline_svg(figure, f"tree-{number}", f"The tree of iteration {tree['iteration']}")


def _draw_node(
    axes: Axes,
    nodes: Sequence[Mapping[str, Any]],
    place: int,
    level: int,
    span: tuple[float, float],
    owners: Mapping[str, str],
) -> None:
    node, middle = nodes[place], sum(span) / 2
    is_cut = node["owner"] is not None and level == _DEEPEST
    if node["owner"] is not None and not is_cut:
        for child, part in ((node["left"], (span[0], middle)), (node["right"], (middle, span[1]))):
            axes.plot([middle, sum(part) / 2], [-level, -level - 1], color=svg.RULE, linewidth=1.2, zorder=1)
            _draw_node(axes, nodes, child, level + 1, part, owners)
    colour = svg.INK if node["owner"] is None else owners.get(node["owner"], svg.PLAIN)
    axes.text(
        middle,
        -level,
        _say_node(nodes, place, is_cut=is_cut, names_owner=node["owner"] in owners),
        ha="center",
        va="center",
        size=TEXT_SIZE - 1.5 - 0.3 * level,
        color=svg.INK,
        zorder=2,
        linespacing=1.25,
        bbox={"boxstyle": "round,pad=0.35", "facecolor": svg.PAPER, "edgecolor": colour, "linewidth": 1.6},
    )


def _say_node(nodes: Sequence[Mapping[str, Any]], place: int, *, is_cut: bool, names_owner: bool) -> str:
    node = nodes[place]
    rows = f"{format_count(node['rows'])} rows"
    if is_cut:
        return f"{_count_below(nodes, place)} more nodes\n{rows}"
    if node["owner"] is None:
        return f"{node['value']:+.4g}\n{rows}"
    (name,) = shorten_names([str(node["column"])], longest=_LONGEST_NAME)
    test = "threshold hidden" if node["test"] is None else shorten_names([node["test"]], longest=_LONGEST_NAME)[0]
    owner = f"{escape_name(node['owner'])}\n" if names_owner else ""
    return f"{owner}{name}\n{test}\n{rows}"


def _count_below(nodes: Sequence[Mapping[str, Any]], place: int) -> int:
    """How many nodes are below a node, itself among them."""
    waiting, count = [place], 0
    while waiting:
        node = nodes[waiting.pop()]
        count += 1
        waiting += [node[side] for side in ("left", "right") if node[side] is not None]
    return count


def _depth(nodes: Sequence[Mapping[str, Any]]) -> int:
    depths = [0] * len(nodes)
    for place, node in enumerate(nodes):
        for side in ("left", "right"):
            if node[side] is not None:
                depths[node[side]] = depths[place] + 1
    return max(depths)
