"""What a key makes once per engine, even when several threads ask at once: tables of a base, constants in its form."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Generic, TypeVar

from hekat.engine.interface import Engine, FixedBaseTable, ResidueArray

T = TypeVar("T", FixedBaseTable, ResidueArray)


class PerEngine(Generic[T]):
    """One table, or one array of residues, for each engine that asked."""

    __slots__ = ("_lock", "_made")

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._made: dict[int, T] = {}

    def get(self, engine: Engine, make: Callable[[], T]) -> T:
        """What belongs to `engine`, from `make` the first time."""
        # What was made keeps its engine alive, so an id in use is never another engine's.
        with self._lock:
            found = self._made.get(id(engine))
            if found is None:
                found = self._made[id(engine)] = make()
            return found
