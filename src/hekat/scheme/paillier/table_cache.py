"""Fixed-base tables of one base, one per engine, each made once even when several threads ask at once."""

from __future__ import annotations

import threading
from collections.abc import Callable

from hekat.engine.interface import Engine, FixedBaseTable


class TableCache:
    """The tables of one base."""

    __slots__ = ("_lock", "_tables")

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._tables: dict[int, FixedBaseTable] = {}

    def get(self, engine: Engine, make: Callable[[], FixedBaseTable]) -> FixedBaseTable:
        """The table for `engine`, from `make` the first time."""
        # A table keeps its engine alive, so an id in use is never another engine's.
        with self._lock:
            table = self._tables.get(id(engine))
            if table is None:
                table = self._tables[id(engine)] = make()
            return table
