"""The tables of one base, one for each engine: made on request, dropped when another base needs their memory."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final
from weakref import WeakSet

from hekat.engine.interface import Engine, FixedBaseTable
from hekat.errors import InputError

# A table made for few powers gives way to a wider one when this many times as many are expected: all tables that a
# base had on the way cost less together than the last one.
GROWTH: Final = 4


@dataclass
class _Kept:
    """A table, the powers it was made for, and when it was last asked for."""

    table: FixedBaseTable
    uses: int
    last_use: int = 0


class TableCache:
    """Keeps the table of one base for each engine that asked; safe for threads, which share what one of them makes.

    A caller may use its table for as long as it likes: a dropped table is only made again at the next request.
    """

    __slots__ = ("__weakref__", "_kept")

    def __init__(self) -> None:
        self._kept: dict[int, _Kept] = {}

    def get(self, engine: Engine, make: Callable[[], FixedBaseTable], uses: int = 1) -> FixedBaseTable:
        """The table of `engine`, from `make` where there is none, or only one for far fewer than `uses` powers.

        Where the engine lacks the memory, the cache drops tables of other bases, the longest unused first. Raises
        InputError where the table does not fit even then.
        """
        kept = self._find(engine, uses)
        if kept is None:
            with _making:
                kept = self._find(engine, uses) or self._make(engine, make, uses)
        kept.last_use = next(_clock)
        return kept.table

    def _find(self, engine: Engine, uses: int) -> _Kept | None:
        # A kept table keeps its engine alive, so an id found here is never another engine's.
        kept = self._kept.get(id(engine))
        return None if kept is None or uses >= GROWTH * kept.uses else kept

    def _make(self, engine: Engine, make: Callable[[], FixedBaseTable], uses: int) -> _Kept:
        self._kept.pop(id(engine), None)
        _caches.add(self)
        while True:
            try:
                kept = _Kept(make(), uses)
            except InputError:  # a key's bases and sizes are in range, so the engine can only lack memory
                if not _let_go_oldest(engine):
                    raise
            else:
                self._kept[id(engine)] = kept
                return kept


def _let_go_oldest(engine: Engine) -> bool:
    """Forget the table of `engine` that was unused for longest; False where there is none."""
    holders = [cache._kept for cache in _caches if id(engine) in cache._kept]
    if not holders:
        return False
    del min(holders, key=lambda kept: kept[id(engine)].last_use)[id(engine)]
    return True


# Held while any table is made, and whenever _caches or a cache's tables change; finding a table takes no lock.
_making = threading.Lock()
_caches: WeakSet[TableCache] = WeakSet()
_clock = itertools.count(1)
