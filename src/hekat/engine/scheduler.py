"""Spreads one batch over several engines in chunks, with the same result as one call."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from contextlib import closing
from itertools import pairwise
from queue import Empty, SimpleQueue
from threading import Event, Thread

import numpy as np

from hekat.engine.interface import Engine
from hekat.engine.limbs import LimbArray
from hekat.errors import EngineError, InputError

DEFAULT_CHUNK_COUNT = 16

ChunkFunction = Callable[[Engine, slice], LimbArray]
Progress = Callable[[int, int], None]
_Finished = Generator[tuple[int, LimbArray], None, None]


class Scheduler:
    """Cuts a batch along its first axis into `chunk_count` chunks and gives each to the least loaded engine.

    Residues live in one engine and cannot be joined across engines. So the work is a function that loads its slice
    of the canonical operands into the engine it is given, computes there, and stores: canonical limbs come back,
    and those join. An engine works on one chunk at a time and takes the next when it has finished; the
    least loaded engine is thereby the one that is served, whatever the engines' speeds.
    """

    def __init__(self, engines: Sequence[Engine], chunk_count: int = DEFAULT_CHUNK_COUNT) -> None:
        if not engines:
            raise EngineError("a scheduler has no engine", expected="at least one engine", got="none")
        if chunk_count < 1:
            raise InputError("chunk_count refused", expected="1 or more", got=str(chunk_count))
        self._engines = tuple(engines)
        self._chunk_count = chunk_count

    def run(self, function: ChunkFunction, count: int, progress: Progress | None = None) -> LimbArray:
        """`function(engine, slice)` of every chunk of range(count), joined along the first axis in order.

        `progress(done, total)` is called in the calling thread after each chunk. An exception of `function`,
        of `progress`, or Ctrl-C ends the run between chunks; no chunk is started after it.
        """
        if count < 0:
            raise InputError("a batch has no negative length", expected="0 or more", got=str(count))
        chunks = _cut(count, self._chunk_count)
        results: list[LimbArray | None] = [None] * len(chunks)
        finish = self._finish_alone if len(self._engines) == 1 else self._finish_together
        done = 0
        with closing(finish(function, chunks)) as finished:
            for index, result in finished:
                results[index] = result
                done += chunks[index].stop - chunks[index].start
                if progress is not None:
                    progress(done, count)
        return np.concatenate([result for result in results if result is not None])

    def _finish_alone(self, function: ChunkFunction, chunks: list[slice]) -> _Finished:
        for index, chunk in enumerate(chunks):
            yield index, function(self._engines[0], chunk)

    def _finish_together(self, function: ChunkFunction, chunks: list[slice]) -> _Finished:
        waiting: SimpleQueue[int] = SimpleQueue()
        finished: SimpleQueue[tuple[int, LimbArray | BaseException]] = SimpleQueue()
        stop = Event()
        for index in range(len(chunks)):
            waiting.put(index)

        def work(engine: Engine) -> None:
            while not stop.is_set():
                try:
                    index = waiting.get_nowait()
                except Empty:
                    return
                try:
                    finished.put((index, function(engine, chunks[index])))
                except BaseException as error:  # raised again in the calling thread
                    stop.set()
                    finished.put((index, error))
                    return

        workers = [Thread(target=work, args=(engine,), name=f"hekat-{engine.name}") for engine in self._engines]
        for worker in workers:
            worker.start()
        try:
            for _ in chunks:
                index, result = finished.get()
                if isinstance(result, BaseException):
                    raise result
                yield index, result
        finally:
            stop.set()
            for worker in workers:
                worker.join()


def _cut(count: int, chunk_count: int) -> list[slice]:
    """At most `chunk_count` slices of nearly equal length; an empty batch is one empty slice."""
    parts = max(1, min(count, chunk_count))
    edges = [count * i // parts for i in range(parts + 1)]
    return [slice(start, stop) for start, stop in pairwise(edges)]
