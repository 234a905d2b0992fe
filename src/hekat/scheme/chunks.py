"""Batches worked through in chunks: bounds the memory of intermediate values, and lets Ctrl-C through in between."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

import numpy as np

from hekat.engine.interface import IndexArray, ResidueArray
from hekat.engine.scheduler import Progress

CHUNK_COUNT: Final = 4096


def chunks_of(count: int, progress: Progress | None) -> Iterator[slice]:
    """Slices that make up range(count); `progress(done, count)` is called when the next one is asked for.

    An empty batch is one empty slice, so that its result has a kind and a shape; it is no progress.
    """
    for start in range(0, max(count, 1), CHUNK_COUNT):
        stop = min(start + CHUNK_COUNT, count)
        yield slice(start, stop)
        if progress is not None and count:
            progress(stop, count)


def take_chunk(residues: ResidueArray, chunk: slice) -> ResidueArray:
    """The residues at the flat positions of `chunk`, in one dimension."""
    positions: IndexArray = np.arange(chunk.start, chunk.stop, dtype=np.int64)
    return residues.engine.take(residues, positions)


def join_chunks(parts: Sequence[ResidueArray], shape: tuple[int, ...]) -> ResidueArray:
    """The results of all chunks, in order, under `shape`."""
    engine = parts[0].engine
    return engine.reshape(parts[0] if len(parts) == 1 else engine.concatenate(parts), shape)
