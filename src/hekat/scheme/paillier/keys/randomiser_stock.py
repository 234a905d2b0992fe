"""Uniform randomisers r^n drawn ahead, where an engine makes several in the time of the few that one answer needs."""

from __future__ import annotations

import os
import threading
import weakref
from collections.abc import Callable
from typing import Final

import numpy as np

from hekat.engine.interface import Engine, ResidueArray

# Of a machine's many threads others want their part, and what is left over is kept for nothing.
MOST_AHEAD: Final = 32


class RandomiserStock:
    """Randomisers of one key, kept by engine until they are handed out, each once; safe for threads and forks.

    They are as secret as the values they will hide.
    """

    __slots__ = ("__weakref__", "_kept", "_lock")

    def __init__(self) -> None:
        self.empty()
        _stocks.add(self)

    def empty(self) -> None:
        """Drop the stock, and start with a new lock that nobody holds."""
        self._kept: dict[int, ResidueArray] = {}
        self._lock = threading.Lock()

    def take(self, count: int, engine: Engine, draw: Callable[[int], ResidueArray]) -> ResidueArray:
        """`count` randomisers that nobody else gets, shape (count,); `draw(count)` makes as many fresh ones."""
        abreast = min(engine.chunk_plan.abreast, MOST_AHEAD)
        if not 0 < count < abreast:
            return draw(count)
        with self._lock:
            # The stock keeps its engine alive, so an id found here never belongs to another engine.
            kept = self._kept.get(id(engine))
            if kept is None or len(kept) < count:
                fresh = draw(abreast)
                kept = fresh if kept is None else engine.concatenate([kept, fresh])
            places = np.arange(len(kept), dtype=np.int64)
            self._kept[id(engine)] = engine.take(kept, places[count:])
            return engine.take(kept, places[:count])


_stocks: weakref.WeakSet[RandomiserStock] = weakref.WeakSet()


def _empty_all() -> None:
    # A forked process has a copy of its parent's stock: parent and child would hide two answers with one randomiser. It
    # also has a copy of a lock that another thread held, which no thread of the child would release.
    for stock in tuple(_stocks):
        stock.empty()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_empty_all)
