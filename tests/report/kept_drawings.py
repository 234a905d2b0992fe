"""Drawings that tests share: one that was made of the same parts of a summary is taken, and not drawn again."""

from __future__ import annotations

import copy
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from typing import Any

from hekat import report
from hekat.report import views

Plot = Callable[[Mapping[str, Any]], str | None]


class ReadSummary(Mapping[str, Any]):
    """A summary that notes which of its parts are read."""

    def __init__(self, summary: Mapping[str, Any]) -> None:
        self._summary = summary
        self.read: dict[str, Any] = {}

    def __getitem__(self, name: str) -> Any:
        if name not in self._summary:
            self.read[name] = None
            raise KeyError(name)
        self.read[name] = self._summary[name]
        return self._summary[name]

    def __iter__(self) -> Iterator[str]:
        self.read |= self._summary
        return iter(self._summary)

    def __len__(self) -> int:
        return len(self._summary)


@cache
def keep_drawings(plot: Plot) -> Plot:
    """`plot` with a memory; what it draws anew must give no warning."""
    drawn: list[tuple[dict[str, Any], str | None]] = []

    def take_or_draw(summary: Mapping[str, Any]) -> str | None:
        for parts, drawing in drawn:
            if all(summary.get(name) == value for name, value in parts.items()):
                return drawing
        noted = ReadSummary(summary)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            drawing = plot(noted)
        drawn.append((copy.deepcopy(noted.read), drawing))
        return drawing

    return take_or_draw


def kept_plots() -> Iterator[tuple[dict[str, Any], str, Plot]]:
    """Where each plot of a page or of a notebook stands: the names there, its own among them, and it with a memory."""
    places = [vars(module) for name, module in sys.modules.items() if name.startswith(report.__name__)]
    for place in (*places, *(view.plots for view in views._VIEWS.values())):
        for name, plot in place.items():
            if callable(plot) and getattr(plot, "__name__", "").startswith("plot_"):
                yield place, name, keep_drawings(plot)
