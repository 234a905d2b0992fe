"""The load of each of several engines, given, done and waiting: from it, the first free engine and each one's share."""

from __future__ import annotations

import os
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from threading import Lock
from time import perf_counter
from typing import Final

from hekat.errors import EngineError

SCHEDULE_VARIABLE = "HEKAT_SCHEDULE"
LEAST_LOADED = "least_loaded"
ROUND_ROBIN = "round_robin"
POLICIES = (LEAST_LOADED, ROUND_ROBIN)

Clock = Callable[[], float]

# Shares follow measurements of about the last so many seconds of work, all engines together.
MEMORY_SECONDS: Final = 10.0
# Measured shares replace the shares in use only where one differs by more: arrays with equal cuts need no moving, so
# cuts should seldom change.
SHARE_STEP: Final = 1 / 16
# No engine's share falls below this: an engine without work would never be measured again.
LEAST_SHARE: Final = 1 / 64


@dataclass(frozen=True)
class EngineLoad:
    """One engine's load: chunks and items it finished, its busy seconds, and items that still wait for it."""

    name: str
    chunks: int
    items: int
    busy_seconds: float
    waiting: int

    def __str__(self) -> str:
        return f"{self.chunks} chunks of {self.items} items in {self.busy_seconds:.2f} s, {self.waiting} items waiting"


class Workload:
    """The load of each of several engines, by number, and their measured shares; safe for threads."""

    def __init__(self, names: Sequence[str], clock: Clock = perf_counter) -> None:
        self._names = tuple(names)
        self._clock = clock
        self._lock = Lock()
        count = len(self._names)
        self._chunks, self._items, self._waiting = [0] * count, [0] * count, [0] * count
        self._busy_seconds = [0.0] * count
        self._shares = self._measured = (1 / count,) * count
        self._measured_seconds = 0.0
        self._seen: set[Hashable] = set()

    def give(self, engine: int, items: int) -> None:
        """Note that `items` wait for `engine`; `work` or `withdraw` removes them again."""
        with self._lock:
            self._waiting[engine] += items

    def withdraw(self, engine: int, items: int) -> None:
        """Note that `engine` will not work on `items` that were given to it."""
        with self._lock:
            self._waiting[engine] -= items

    @contextmanager
    def work(self, engine: int, items: int) -> Iterator[None]:
        """Within it `engine` works on a chunk of `items` given to it; for a chunk that fails only the seconds count."""
        start, done = self._clock(), False
        try:
            yield
            done = True
        finally:
            seconds = self._clock() - start
            with self._lock:
                self._waiting[engine] -= items
                self._busy_seconds[engine] += seconds
                self._chunks[engine] += done
                self._items[engine] += items * done

    def loads(self) -> tuple[EngineLoad, ...]:
        """The loads of this moment, in the order of the engines."""
        with self._lock:
            rows = zip(self._names, self._chunks, self._items, self._busy_seconds, self._waiting, strict=True)
            return tuple(EngineLoad(*row) for row in rows)

    def busy_seconds(self, engine: int) -> float:
        """Seconds that `engine` has been busy in all."""
        with self._lock:
            return self._busy_seconds[engine]

    def first_free(self, among: Sequence[int]) -> int:
        """The engine of `among` that finishes its waiting work first; the first such engine where several do."""
        with self._lock:
            return min(among, key=lambda engine: self._waiting[engine] / self._shares[engine])

    def observe(self, kind: Hashable, items: Mapping[int, int], seconds: Mapping[int, float]) -> None:
        """Measure shares by one operation that was cut over all engines, with `items` and `seconds` of each.

        An operation counts by its seconds; the first of its `kind` does not count, because it compiles kernels.
        """
        if not all(items.get(engine) and seconds.get(engine, 0) > 0 for engine in range(len(self._names))):
            return
        rates = [items[engine] / seconds[engine] for engine in range(len(self._names))]
        weight = sum(seconds.values())
        with self._lock:
            if kind not in self._seen:
                self._seen.add(kind)
                return
            kept = min(self._measured_seconds, MEMORY_SECONDS)
            self._measured = tuple(
                (old * kept + rate / sum(rates) * weight) / (kept + weight)
                for old, rate in zip(self._measured, rates, strict=True)
            )
            self._measured_seconds = kept + weight
            if max(abs(new - old) for new, old in zip(self._measured, self._shares, strict=True)) > SHARE_STEP:
                floored = [max(share, LEAST_SHARE) for share in self._measured]
                self._shares = tuple(share / sum(floored) for share in floored)

    @property
    def shares(self) -> tuple[float, ...]:
        """The share of a batch for each engine so that all end together; equal until something was measured."""
        with self._lock:
            return self._shares


def choose_policy(asked: str | None = None) -> tuple[str, str]:
    """The policy for giving out work, and why: `asked`, else HEKAT_SCHEDULE, else least loaded first.

    Raises EngineError for an unknown policy; never falls back.
    """
    why, source = "asked for", "the schedule"
    if asked is None:
        asked = os.environ.get(SCHEDULE_VARIABLE, "").strip()
        why, source = f"{SCHEDULE_VARIABLE}={asked:.20}", SCHEDULE_VARIABLE
        if not asked:
            return LEAST_LOADED, "the default"
    if asked not in POLICIES:
        raise EngineError(
            f"{source} names no way to give out work",
            expected=" or ".join(POLICIES),
            got=f"{asked!r:.40}",
            cure=f"set {SCHEDULE_VARIABLE}={LEAST_LOADED}, or leave it out",
        )
    return asked, why
