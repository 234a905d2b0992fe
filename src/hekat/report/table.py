"""A table as rows of text, for the terminal and for the page alike, and the cells that tables of all protocols have."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from hekat.report.number_text import describe_metric

METRIC_ORDER = ("accuracy", "log_loss", "auc", "rmse", "r2")


@dataclass(frozen=True)
class Table:
    """Rows of text under `columns`; the first `text_columns` read as text, the rest as numbers.

    `marked` holds (row, column) of the cells to stand out; `note` explains the table in a sentence or two.
    """

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    note: str = ""
    text_columns: int = 1
    marked: frozenset[tuple[int, int]] = frozenset()


def metric_names(summary: Mapping[str, Any]) -> list[str]:
    """The metrics that at least one result has, best known first."""
    found = dict.fromkeys(name for result in summary["results"] for name in result["metrics"])
    return [name for name in METRIC_ORDER if name in found] + [name for name in found if name not in METRIC_ORDER]


def metric_title(name: str) -> str:
    """The head of a metric's column: its name, and whether higher or lower is better."""
    metric = describe_metric(name)
    if metric.higher_is_better is None:
        return metric.title
    return f"{metric.title} ({'higher' if metric.higher_is_better else 'lower'} is better)"


def format_fixed_seconds(value: float) -> str:
    """Three decimals, so that a column lines up."""
    return "< 0.001" if 0 < value < 0.0005 else f"{value:.3f}"
