"""Batches worked through in chunks: bounds the memory of intermediate values, and lets Ctrl-C through in between."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from contextlib import closing
from queue import SimpleQueue
from threading import Event, Lock, Thread
from typing import Final, TypeVar

import numpy as np

from hekat.engine.interface import Engine, IndexArray, ResidueArray
from hekat.engine.scheduler import Progress

CHUNK_COUNT: Final = 4096

T = TypeVar("T")


def run_chunks(
    function: Callable[[slice], T], count: int, engine: Engine, progress: Progress | None, *, times: int = 1
) -> list[T]:
    """The results of `function` for slices that make up range(count), in order.

    The engine's plan sets the length of a slice, `times` as long where the caller asks for it, and how many slices run
    at once, each on its own thread; so `function` must write only what belongs to its slice. An empty batch is one
    empty slice, so that its result has a kind and a shape; it reports no progress. `progress(done, count)` is called in
    the calling thread, once all slices up to `done` are finished. An exception or Ctrl-C ends the batch: no further
    slice begins, `run_chunks` waits for the slices at work, and it raises the exception that is first in order.
    """
    plan = engine.chunk_plan
    length = plan.factor * CHUNK_COUNT * times
    chunks = [slice(start, min(start + length, count)) for start in range(0, max(count, 1), length)]
    in_flight = min(plan.in_flight, len(chunks))
    results = []
    with closing(_overlapped(function, chunks, in_flight) if in_flight > 1 else _in_turn(function, chunks)) as parts:
        for chunk, part in zip(chunks, parts, strict=True):
            results.append(part)
            if progress is not None and count:
                progress(chunk.stop, count)
    return results


def take_chunk(residues: ResidueArray, chunk: slice) -> ResidueArray:
    """The residues at the flat positions of `chunk`, in one dimension."""
    positions: IndexArray = np.arange(chunk.start, chunk.stop, dtype=np.int64)
    return residues.engine.take(residues, positions)


def join_chunks(parts: Sequence[ResidueArray], shape: tuple[int, ...]) -> ResidueArray:
    """The results of all chunks, in order, under `shape`."""
    engine = parts[0].engine
    return engine.reshape(parts[0] if len(parts) == 1 else engine.concatenate(parts), shape)


def _in_turn(function: Callable[[slice], T], chunks: Sequence[slice]) -> Generator[T, None, None]:
    for chunk in chunks:
        yield function(chunk)


def _overlapped(function: Callable[[slice], T], chunks: Sequence[slice], in_flight: int) -> Generator[T, None, None]:
    waiting = iter(range(len(chunks)))
    finished: SimpleQueue[tuple[int, T | _Failure]] = SimpleQueue()
    taking, stop = Lock(), Event()

    def take() -> int | None:
        with taking:
            return None if stop.is_set() else next(waiting, None)

    def work() -> None:
        while (index := take()) is not None:
            try:
                finished.put((index, function(chunks[index])))
            except BaseException as error:  # raised again in the calling thread
                stop.set()
                finished.put((index, _Failure(error)))

    workers = [Thread(target=work, name=f"hekat-chunk-{number}") for number in range(in_flight)]
    landed: dict[int, T | _Failure] = {}
    try:
        for worker in workers:
            worker.start()
        # Every slice before a failing one began before it.
        for index in range(len(chunks)):
            while index not in landed:
                landed.update([finished.get()])
            result = landed.pop(index)
            if isinstance(result, _Failure):
                raise result.error
            yield result
    finally:
        stop.set()
        for worker in workers:
            if worker.is_alive():  # otherwise the slice has ended, or will find nothing to do when it begins
                worker.join()


class _Failure:
    """What a chunk raised."""

    def __init__(self, error: BaseException) -> None:
        self.error = error
