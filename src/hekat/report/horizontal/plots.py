"""The plots of a report: one function each, from the summary to an inline SVG, or None where nothing was measured."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from hekat.report.horizontal.findings import is_encrypted
from hekat.report.horizontal.steps import step_names
from hekat.report.horizontal.tables import seconds_of
from hekat.report.horizontal.validation_tables import validation_points
from hekat.report.measured_rows import are_training_rows, rows_name
from hekat.report.number_text import describe_metric, format_byte_count, format_number, format_seconds
from hekat.report.page import svg
from hekat.report.page.drawing import (
    TEXT_SIZE,
    WIDTH_IN,
    Entry,
    draw_legend,
    draw_title,
    escape_name,
    spread_panels,
    style_axes,
)
from hekat.report.table import metric_names

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Above this many parties their dots share one line.
_MOST_LINES = 24
# Rounds are labelled one by one, every second, every fifth and so on, so that at most this many labels stand in a row.
_MOST_TICKS = 25
# From here on axes are labelled as tables are, thousands set apart.
_LARGE = 10_000
_STEPS = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 10_000, 100_000)
_KINDS = {
    "alone": (svg.ALONE, "s", "one party alone"),
    "plain": (svg.PLAIN, "D", "all together, not encrypted"),
    "encrypted": (svg.ENCRYPTED, "o", "all together, encrypted"),
}


def plot_results(summary: Mapping[str, Any]) -> str | None:
    """Every model's metrics as dots, one panel per metric."""
    names, results = metric_names(summary), summary["results"]
    if not names:
        return None
    together = sum(result["kind"] == "alone" for result in results) > _MOST_LINES
    labels = list(dict.fromkeys(_line(result, together) for result in results))
    figure = svg.new_figure(WIDTH_IN, 1.5 + 0.27 * len(labels))
    panels = figure.subplots(1, len(names), sharey=True, squeeze=False)[0]
    for panel, name in zip(panels, names, strict=True):
        metric = describe_metric(name)
        factor = 100 if metric.percent else 1
        for kind, (colour, marker, _) in _KINDS.items():
            chosen = [r for r in results if r["kind"] == kind and name in r["metrics"]]
            if not chosen:
                continue
            panel.plot(
                [factor * r["metrics"][name] for r in chosen],
                [labels.index(_line(r, together)) for r in chosen],
                marker, color=colour, markersize=7, linestyle="none", clip_on=False,
            )  # fmt: skip
        panel.margins(x=0.16)
        panel.set_xlabel(f"{metric.title}{' in %' if metric.percent else ''}\n{_direction(metric.higher_is_better)}")
        style_axes(panel, grid="both")
        panel.locator_params(axis="x", nbins=4)
        if any(abs(r["metrics"].get(name, 0)) >= _LARGE for r in results):
            panel.xaxis.set_major_formatter(lambda value, place: format_number(round(value)))
    spread_panels(figure)
    panels[0].set_yticks(range(len(labels)), labels)
    panels[0].set_ylim(len(labels) - 0.5, -0.5)
    rows = "training rows" if are_training_rows(summary) else "common test set"
    draw_title(figure, f"How good each model is on the {rows}")
    kinds = [kind for kind in _KINDS if any(result["kind"] == kind for result in results)]
    draw_legend(figure, [(_KINDS[kind][0], _KINDS[kind][1], "none", _KINDS[kind][2]) for kind in kinds])
    return svg.to_inline_svg(figure, "results", "Dot plot of the metrics in the table of results")


def plot_convergence(summary: Mapping[str, Any]) -> str | None:
    """Training loss of every round, test metric and metric on held-out rows, encrypted and plain over each other."""
    rounds = {kind: made for kind, made in summary["rounds"].items() if kind in _KINDS and made}
    if not rounds:
        return None
    name = "rmse" if summary["task"] == "regression" else "log_loss"
    tested = any(name in item.get("metrics", {}) for made in rounds.values() for item in made)
    validated = {kind: validation_points(summary, kind, name) for kind in rounds}
    unit = "unit of the label" if name == "rmse" else "nats per row"
    figure = svg.new_figure(WIDTH_IN, 3.3)
    panels = figure.subplots(1, 1 + tested + any(validated.values()), squeeze=False)[0]
    _draw_rounds(panels[0], {kind: [(r["round"], r["loss"]) for r in made] for kind, made in rounds.items()})
    panels[0].set_ylabel("training loss (no unit)")
    panels[0].set_xlabel("round (loss at its start)")
    if tested:
        points = {
            kind: [(r["round"], r["metrics"][name]) for r in made if name in r.get("metrics", {})]
            for kind, made in rounds.items()
        }
        _draw_rounds(panels[1], points)
        panels[1].set_ylabel(f"{rows_name(summary)} {describe_metric(name).title} ({unit})")
        panels[1].set_xlabel("round (model at its end)")
    if any(validated.values()):
        _draw_rounds(panels[-1], validated)
        panels[-1].set_ylabel(f"held-out {describe_metric(name).title} ({unit})")
        panels[-1].set_xlabel("round (model at its start; the end last)")
    draw_title(figure, "Training, round by round")
    entries: dict[str, Entry] = {
        "plain": (svg.PLAIN, "D", "-", "not encrypted"),
        "encrypted": (svg.ENCRYPTED, "o", "--", "encrypted"),
    }
    draw_legend(figure, [entries[kind] for kind in ("plain", "encrypted") if kind in rounds])
    return svg.to_inline_svg(figure, "convergence", "Training loss and test metric by round, encrypted and plain")


def plot_exactness(summary: Mapping[str, Any]) -> str | None:
    """The largest error of every checked sum against its stated bound, on a logarithmic scale."""
    checks = summary["exactness"]
    seen = [value for check in checks for value in (check["largest_error"], check["bound"]) if value > 0]
    if not seen:
        return None
    before = [check for check in checks if not check["step"].startswith("round-")]
    groups = [group for group in (before, [c for c in checks if c["step"].startswith("round-")]) if group]
    figure = svg.new_figure(WIDTH_IN, 3.5)
    ratios = [max(2.0, 1.6 * len(before)), 12] if len(groups) == 2 else [1]
    panels = figure.subplots(1, len(groups), sharey=True, squeeze=False, width_ratios=ratios)[0]
    floor = min(seen) / 3
    for panel, group in zip(panels, groups, strict=True):
        _draw_checks(panel, group, floor)
        panel.set_xlabel("preparation" if group is before else "round")
    panels[0].set_yscale("log")
    panels[0].set_ylim(floor / 1.5, 3 * max(seen))
    panels[0].set_ylabel("error of the average\n(unit of the averaged value)")
    draw_title(figure, "Encrypted sums against the same sums in floating point")
    entries: list[Entry] = [
        (svg.ENCRYPTED, "o", "none", "largest error found"),
        (svg.BOUND, "_", "none", "bound stated beforehand"),
    ]
    if any(check["largest_error"] == 0 for check in checks):
        entries.append((svg.ENCRYPTED, "v", "none", "no error at all (below the scale)"))
    draw_legend(figure, entries)
    return svg.to_inline_svg(figure, "exactness", "Largest error and stated bound of every checked sum")


def plot_time(summary: Mapping[str, Any]) -> str | None:
    """Seconds of each step as horizontal bars, parties and aggregator apart."""
    steps = step_names(summary)
    pairs = [seconds_of(summary, step) for step in steps]
    largest = max((sum(pair) for pair in pairs), default=0.0)
    if not largest:
        return None
    figure = svg.new_figure(WIDTH_IN, 1.5 + 0.27 * len(steps))
    axes = figure.subplots()
    places = range(len(steps))
    axes.barh(places, [pair[0] for pair in pairs], height=0.62, color=svg.PARTIES)
    axes.barh(places, [pair[1] for pair in pairs], left=[pair[0] for pair in pairs], height=0.62, color=svg.AGGREGATOR)
    for place, pair in zip(places, pairs, strict=True):
        axes.text(
            sum(pair) + 0.01 * largest, place, format_seconds(sum(pair)), va="center", size=TEXT_SIZE, color=svg.INK
        )
    axes.set_yticks(places, [escape_name(step) for step in steps])
    axes.set_ylim(len(steps) - 0.5, -0.5)
    axes.set_xlim(0, 1.13 * largest)
    axes.set_xlabel("seconds, summed over all rounds")
    style_axes(axes, grid=None)
    draw_title(figure, "Where the time goes")
    count = len(summary["parties"])
    draw_legend(
        figure,
        [(svg.PARTIES, "s", "none", f"all {count} parties together"), (svg.AGGREGATOR, "s", "none", "aggregator")],
    )
    return svg.to_inline_svg(figure, "time", "Seconds by step, parties and aggregator")


def plot_bytes(summary: Mapping[str, Any]) -> str | None:
    """One update as float32 and as it travels, up and down."""
    sizes = summary["bytes"]
    form = "encrypted and sealed" if is_encrypted(summary) else "sealed, NOT encrypted"
    colour = svg.ENCRYPTED if is_encrypted(summary) else svg.PLAIN
    rows = [
        ("plain float32 numbers", sizes["float32_per_update"], svg.ALONE),
        (f"up: {form}", sizes["update_sealed"], colour),
        (f"down: {form}", sizes["sum_sealed"], colour),
    ]
    if sizes.get("to_openers_sealed"):
        rows.append(("shares, to those who open", sizes["to_openers_sealed"], svg.PARTIES))
        rows.append(("sums of shares, from them", sizes["from_openers_sealed"], svg.PARTIES))
    known = [row for row in rows if row[1] is not None]
    largest = max(row[1] for row in known)
    if len(known) < 2 or not largest:
        return None
    figure = svg.new_figure(WIDTH_IN, 0.85 + 0.3 * len(known))
    axes = figure.subplots()
    places = range(len(known))
    axes.barh(places, [row[1] for row in known], height=0.6, color=[row[2] for row in known])
    for place, row in zip(places, known, strict=True):
        axes.text(row[1] + 0.01 * largest, place, format_byte_count(row[1]), va="center", size=TEXT_SIZE, color=svg.INK)
    axes.set_yticks(places, [row[0] for row in known])
    axes.set_ylim(len(known) - 0.5, -0.5)
    axes.set_xlim(0, 1.13 * largest)
    axes.xaxis.set_major_formatter(lambda value, place: format_byte_count(round(value)))
    axes.set_xlabel("bytes of one party in one round")
    style_axes(axes, grid=None)
    axes.locator_params(axis="x", nbins=6)
    draw_title(figure, "What travels")
    return svg.to_inline_svg(figure, "bytes", "Bytes of one update as float32 and as sent")


def _draw_rounds(axes: Axes, points: Mapping[str, Sequence[tuple[int, float]]]) -> None:
    """The plain line broad and below, the encrypted one thin, dashed and on top: both are seen where they coincide."""
    most = max((len(found) for found in points.values()), default=0)
    every = max(1, most // 20)
    for kind, width, line, size in (("plain", 4.0, "-", 6.5), ("encrypted", 1.4, "--", 3.5)):
        if points.get(kind):
            x, y = zip(*points[kind], strict=True)
            colour, marker, _ = _KINDS[kind]
            axes.plot(x, y, line, color=colour, linewidth=width, marker=marker, markersize=size, markevery=every)
    axes.locator_params(axis="x", integer=True)
    values = [value for found in points.values() for _, value in found]
    if min(values, default=0) > 0:
        axes.set_ylim(0, 1.06 * max(values))
    if max(values, default=0) >= _LARGE:
        axes.yaxis.set_major_formatter(lambda value, place: format_number(round(value)))
    style_axes(axes, grid="both")


def _draw_checks(axes: Axes, checks: Sequence[Mapping[str, Any]], floor: float) -> None:
    places = range(len(checks))
    positive = [(place, c["bound"]) for place, c in zip(places, checks, strict=True) if c["bound"] > 0]
    if positive:
        axes.plot(*zip(*positive, strict=True), "_", color=svg.BOUND, markersize=11, markeredgewidth=2.4)
    for marker, wanted in (("o", True), ("v", False)):
        chosen = [
            (p, c["largest_error"] or floor)
            for p, c in zip(places, checks, strict=True)
            if bool(c["largest_error"]) is wanted
        ]
        if chosen:
            axes.plot(*zip(*chosen, strict=True), marker, color=svg.ENCRYPTED, markersize=5)
    labels = [escape_name(check["step"].removeprefix("round-").rpartition("/")[2]) for check in checks]
    every = next(size for size in _STEPS if size * _MOST_TICKS >= len(checks) or size == _STEPS[-1])
    shown = [place for place in places if not labels[place].isdigit() or int(labels[place]) % every == 0]
    axes.set_xticks(shown, [labels[place] for place in shown])
    axes.set_xlim(-0.7, len(checks) - 0.3)
    style_axes(axes, grid="y")


def _line(result: Mapping[str, Any], together: bool) -> str:
    if together and result["kind"] == "alone":
        return "each party alone"
    return escape_name(result["name"])


def _direction(higher_is_better: bool | None) -> str:
    if higher_is_better is None:
        return ""
    return "higher is better →" if higher_is_better else "← lower is better"
