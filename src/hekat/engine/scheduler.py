"""Spreads one batch over several engines in chunks, with the same result as one call."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Generator, Sequence
from contextlib import closing
from itertools import accumulate, pairwise
from queue import SimpleQueue
from threading import Event, Lock, Thread
from time import perf_counter

import numpy as np

from hekat.engine.interface import Engine
from hekat.engine.limbs import LimbArray
from hekat.engine.workload import ROUND_ROBIN, Clock, EngineLoad, Workload, choose_policy
from hekat.errors import EngineError, InputError

DEFAULT_CHUNK_COUNT = 16
# The smallest chunk over the mean chunk: the share of the work that is left when the last chunk begins.
SMALLEST_TO_MEAN = 1 / 4

ChunkFunction = Callable[[Engine, slice], LimbArray]
Progress = Callable[[int, int], None]
_Finished = Generator[tuple[int, LimbArray], None, None]


class Scheduler:
    """Cuts a batch along its first axis into `chunk_count` chunks and gives each to one of the engines.

    Residues live in one engine and cannot be joined across engines. So the work is a function that loads its slice of
    the canonical operands into its engine, computes there, and stores: it returns canonical limbs, which the scheduler
    joins. An engine works on one chunk at a time.

    `policy`: `least_loaded` serves the first free engine; with several engines the chunks get smaller, and slow engines
    take the small ones (`ChunkQueue`). `round_robin` gives the engines equal chunks in turn. None takes the policy in
    the variable HEKAT_SCHEDULE, else `least_loaded`.
    """

    def __init__(
        self,
        engines: Sequence[Engine],
        chunk_count: int = DEFAULT_CHUNK_COUNT,
        *,
        policy: str | None = None,
        clock: Clock = perf_counter,
    ) -> None:
        if not engines:
            raise EngineError("a scheduler has no engine", expected="at least one engine", got="none")
        if chunk_count < 1:
            raise InputError("chunk_count refused", expected="1 or more", got=str(chunk_count))
        self._engines = tuple(engines)
        self._chunk_count = chunk_count
        self._policy, _ = choose_policy(policy)
        self._workload = Workload([getattr(engine, "name", "") for engine in engines], clock)

    def loads(self) -> tuple[EngineLoad, ...]:
        """The load of each engine over all runs, in the order of the engines."""
        return self._workload.loads()

    def run(self, function: ChunkFunction, count: int, progress: Progress | None = None) -> LimbArray:
        """`function(engine, slice)` of every chunk of range(count), joined along the first axis in order.

        `progress(done, total)` is called in the calling thread after each chunk. An exception of `function`,
        of `progress`, or Ctrl-C ends the run between chunks; no chunk is started after it.
        """
        if count < 0:
            raise InputError("a batch has no negative length", expected="0 or more", got=str(count))
        falling = len(self._engines) > 1 and self._policy != ROUND_ROBIN
        chunks = cut_falling(count, self._chunk_count) if falling else cut_evenly(count, self._chunk_count)
        results: list[LimbArray | None] = [None] * len(chunks)
        finish = self._finish_alone if len(self._engines) == 1 else self._finish_together
        done = 0
        with closing(finish(function, chunks)) as finished:
            for index, result in finished:
                results[index] = result
                done += _length(chunks[index])
                if progress is not None:
                    progress(done, count)
        return np.concatenate([result for result in results if result is not None])

    def _finish_alone(self, function: ChunkFunction, chunks: list[slice]) -> _Finished:
        for index, chunk in enumerate(chunks):
            self._workload.give(0, _length(chunk))
            with self._workload.work(0, _length(chunk)):
                result = function(self._engines[0], chunk)
            yield index, result

    def _finish_together(self, function: ChunkFunction, chunks: list[slice]) -> _Finished:
        waiting = ChunkQueue([_length(chunk) for chunk in chunks], self._workload, self._policy)
        finished: SimpleQueue[tuple[int, LimbArray | BaseException]] = SimpleQueue()
        stop = Event()

        def work(number: int, engine: Engine) -> None:
            while not stop.is_set() and (index := waiting.take(number)) is not None:
                try:
                    with self._workload.work(number, _length(chunks[index])):
                        result = function(engine, chunks[index])
                except BaseException as error:  # raised again in the calling thread
                    stop.set()
                    finished.put((index, error))
                    return
                finished.put((index, result))

        workers = [
            Thread(target=work, args=(number, engine), name=f"hekat-{engine.name}")
            for number, engine in enumerate(self._engines)
        ]
        try:
            for worker in workers:
                worker.start()
            for _ in chunks:
                index, result = finished.get()
                if isinstance(result, BaseException):
                    raise result
                yield index, result
        finally:
            stop.set()
            for worker in workers:
                if worker.is_alive():  # otherwise it has ended, or never began
                    worker.join()
            waiting.withdraw()


class ChunkQueue:
    """The waiting chunks, of non-increasing `sizes`, and the choice of a free engine's next chunk.

    Least loaded first: all engines together could finish the waiting work by a certain time; a free engine takes the
    largest chunk that it can finish by then, at its speed in this queue, or the smallest chunk if none is so small. So
    large chunks go first, and a slow engine does not hold the last one. An engine without a measured speed counts as
    average. Sources: guided self-scheduling (Polychronopoulos, Kuck 1987) in the fixed sizes of trapezoid
    self-scheduling (Tzeng, Ni 1993). Round-robin: chunk i goes to engine i mod (engines), whatever else that engine has
    to do.
    """

    def __init__(self, sizes: Sequence[int], workload: Workload, policy: str) -> None:
        self._sizes = sizes
        self._workload = workload
        self._lock = Lock()
        count = len(workload.loads())
        self._rounds: list[list[int]] | None = None
        # The numbers of the waiting chunks, and their negated sizes, so that both ascend.
        self._numbers, self._negated = list(range(len(sizes))), [-size for size in sizes]
        self._left = sum(sizes)
        if policy == ROUND_ROBIN:
            self._rounds = [list(range(engine, len(sizes), count))[::-1] for engine in range(count)]
            for engine, numbers in enumerate(self._rounds):
                workload.give(engine, sum(sizes[number] for number in numbers))
        # Items of the chunk that each engine took last, and of all earlier ones: a free engine has finished both.
        self._last, self._done = [0] * count, [0] * count
        self._busy_before = [workload.busy_seconds(engine) for engine in range(count)]

    def take(self, engine: int) -> int | None:
        """The number of the chunk that the free `engine` works on next; None where nothing is left for it."""
        with self._lock:
            if self._rounds is not None:
                return self._rounds[engine].pop() if self._rounds[engine] else None
            if not self._numbers:
                return None
            self._done[engine] += self._last[engine]
            self._last[engine] = 0
            # The first is the largest chunk, the last the smallest.
            place = min(bisect_left(self._negated, -self._most_items(engine)), len(self._numbers) - 1)
            number, size = self._numbers.pop(place), -self._negated.pop(place)
            self._left -= size
            self._last[engine] = size
            self._workload.give(engine, size)
            return number

    def withdraw(self) -> None:
        """Withdraw the chunks that no engine will take any more."""
        for engine, numbers in enumerate(self._rounds or []):
            self._workload.withdraw(engine, sum(self._sizes[number] for number in numbers))

    def _most_items(self, engine: int) -> float:
        """Items that `engine` can finish by the time all engines together have finished the waiting work."""
        busy = [self._workload.busy_seconds(other) - before for other, before in enumerate(self._busy_before)]
        speeds = [done / seconds if seconds > 0 else 0.0 for done, seconds in zip(self._done, busy, strict=True)]
        known = [speed for speed in speeds if speed]
        middling = sum(known) / len(known) if known else 1.0
        speeds = [speed or middling for speed in speeds]
        return self._left * speeds[engine] / sum(speeds)


def cut_evenly(count: int, chunk_count: int) -> list[slice]:
    """At most `chunk_count` slices of nearly equal length; an empty batch is one empty slice."""
    parts = max(1, min(count, chunk_count))
    edges = [count * i // parts for i in range(parts + 1)]
    return [slice(start, stop) for start, stop in pairwise(edges)]


def cut_falling(count: int, chunk_count: int) -> list[slice]:
    """As many slices as `cut_evenly`, none longer than the one before, the last a quarter of the mean at least."""
    parts = max(1, min(count, chunk_count))
    if parts == 1:
        return [slice(0, count)]
    mean = count / parts
    least = min(mean, max(1.0, mean * SMALLEST_TO_MEAN))
    # In equal steps from 2 mean - least down to least, which add up to `count`.
    step = 2 * (mean - least) / (parts - 1)
    sizes = [int(2 * mean - least - i * step) for i in range(parts)]
    short = count - sum(sizes)
    # Rounding down left out fewer items than there are parts; the first parts take them.
    sizes = sorted((size + (i < short) for i, size in enumerate(sizes)), reverse=True)
    return [slice(start, stop) for start, stop in pairwise(accumulate(sizes, initial=0))]


def _length(chunk: slice) -> int:
    return int(chunk.stop - chunk.start)
