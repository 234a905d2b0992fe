"""Constants that a key loads once per engine, in the engine's form, even when several threads ask at once."""

from __future__ import annotations

import threading
from collections.abc import Callable

from hekat.engine.interface import Engine, ResidueArray


class PerEngine:
    """One array of residues for each engine that asked."""

    __slots__ = ("_lock", "_made")

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._made: dict[int, ResidueArray] = {}

    def get(self, engine: Engine, make: Callable[[], ResidueArray]) -> ResidueArray:
        """The residues for `engine`; `make` makes them the first time."""
        # The residues keep their engine alive, so an id in use never belongs to another engine.
        with self._lock:
            found = self._made.get(id(engine))
            if found is None:
                found = self._made[id(engine)] = make()
            return found
