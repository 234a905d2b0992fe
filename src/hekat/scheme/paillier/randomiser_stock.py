"""Uniform randomisers r^n drawn ahead: an engine takes as long for the few that one answer needs as for dozens."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import numpy as np

from hekat.engine.interface import Engine, ResidueArray

# A multiple of what engines compute at once.
DRAWN_TOGETHER: Final = 32


@dataclass
class _Kept:
    """Randomisers of one engine that were not handed out yet, and the process that drew them."""

    residues: ResidueArray
    process: int


class RandomiserStock:
    """Randomisers of one key, kept by engine until they are handed out, each once; safe for threads and forks.

    They are as secret as what they will hide.
    """

    __slots__ = ("_kept", "_lock")

    def __init__(self) -> None:
        self._kept: dict[int, _Kept] = {}
        self._lock = threading.Lock()

    def take(self, count: int, engine: Engine, draw: Callable[[int], ResidueArray]) -> ResidueArray:
        """`count` randomisers that nobody else gets, shape (count,); `draw(count)` makes as many fresh ones."""
        if not 0 < count < DRAWN_TOGETHER:
            return draw(count)
        with self._lock:
            kept = self._find(engine)
            if kept is None or len(kept.residues) < count:
                fresh = draw(DRAWN_TOGETHER)
                residues = fresh if kept is None else engine.concatenate([kept.residues, fresh])
                kept = self._kept[id(engine)] = _Kept(residues, os.getpid())
            places = np.arange(len(kept.residues), dtype=np.int64)
            taken = engine.take(kept.residues, places[:count])
            kept.residues = engine.take(kept.residues, places[count:])
            return taken

    def _find(self, engine: Engine) -> _Kept | None:
        # What is kept keeps its engine alive, so an id found here is never another engine's. A forked process has a
        # copy of what its parent hands out: both would hide two answers by one randomiser.
        kept = self._kept.get(id(engine))
        return kept if kept is not None and kept.process == os.getpid() else None
