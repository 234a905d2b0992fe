"""Page-locked host memory for copies to and from a GPU: reused by size, wiped after each use."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

Bytes = npt.NDArray[np.uint8]

PIECE_BYTES = 16 << 20
"""The most that is copied at once: larger arrays go in pieces, so that copies on host and bus overlap."""
SMALLEST_BYTES = 64 << 10
KEPT_BYTES = 256 << 20
"""For unused buffers, and as much again for those that the device still reads."""


class Event(Protocol):
    """cupy.cuda.Event."""

    @property
    def done(self) -> bool: ...

    def synchronize(self) -> None: ...


class PinnedBuffers:
    """Buffers of powers of two bytes. Calls may come from several threads."""

    def __init__(self, allocate: Callable[[int], Bytes], kept_bytes: int = KEPT_BYTES) -> None:
        """`allocate` returns page-locked memory of so many bytes, freed with the last reference to it."""
        self._allocate = allocate
        self._most_bytes = kept_bytes
        self._free: dict[int, list[Bytes]] = {}
        self._free_bytes = 0
        # Buffers in the order in which they were given back, with the part of each in use.
        self._busy: deque[tuple[Event, Bytes, int]] = deque()
        self._busy_bytes = 0
        self._lock = threading.Lock()

    def take(self, byte_count: int) -> Bytes:
        """A buffer of zeros, of `byte_count` or more bytes, for the caller alone until it is given back."""
        size = max(SMALLEST_BYTES, 1 << (byte_count - 1).bit_length())
        with self._lock:
            self._reap(self._most_bytes)
            free = self._free.get(size)
            if free:
                self._free_bytes -= size
                return free.pop()
        return self._allocate(size)

    def give(self, buffer: Bytes, used_bytes: int) -> None:
        """Wipe the used part of the buffer and keep the buffer for the next caller, as long as there is room."""
        buffer[:used_bytes] = 0
        with self._lock:
            self._keep(buffer)

    def give_after(self, event: Event, buffer: Bytes, used_bytes: int) -> None:
        """As `give`, but once `event` is over; until then the device reads the buffer."""
        with self._lock:
            self._busy.append((event, buffer, used_bytes))
            self._busy_bytes += buffer.size

    def wipe(self) -> None:
        """Wait for all buffers that were given back, and wipe them."""
        with self._lock:
            self._reap(0)

    @property
    def free_bytes(self) -> int:
        """Bytes of all unused buffers."""
        with self._lock:
            return self._free_bytes

    def _reap(self, most_bytes: int) -> None:
        """Take back the buffers whose events are over; wait for the oldest while more than `most_bytes` are busy."""
        still: deque[tuple[Event, Bytes, int]] = deque()
        while self._busy:
            event, buffer, used_bytes = entry = self._busy.popleft()
            if self._busy_bytes > most_bytes:
                event.synchronize()
            elif not event.done:
                still.append(entry)
                continue
            self._busy_bytes -= buffer.size
            buffer[:used_bytes] = 0
            self._keep(buffer)
        self._busy = still

    def _keep(self, buffer: Bytes) -> None:
        if self._free_bytes + buffer.size <= self._most_bytes:
            self._free.setdefault(buffer.size, []).append(buffer)
            self._free_bytes += buffer.size


class Transfers:
    """Copies between host arrays and a device's memory, in pieces through pinned buffers, each on one stream.

    `copy_in(pointer, buffer's address, bytes, stream)` and `copy_out(buffer's address, pointer, bytes, stream)` each
    queue one copy.
    """

    def __init__(
        self,
        buffers: PinnedBuffers,
        copy_in: Callable[[int, int, int, Any], None],
        copy_out: Callable[[int, int, int, Any], None],
        piece_bytes: int = PIECE_BYTES,
    ) -> None:
        self._buffers = buffers
        self._copy_in = copy_in
        self._copy_out = copy_out
        self._piece_bytes = piece_bytes

    def upload(self, pointer: int, source: Bytes, stream: Any) -> None:
        """Queue a copy of `source` to the device; `source` may change once this returns."""
        for start in range(0, source.size, self._piece_bytes):
            piece = source[start : start + self._piece_bytes]
            buffer = self._buffers.take(piece.size)
            buffer[: piece.size] = piece
            self._copy_in(pointer + start, buffer.ctypes.data, piece.size, stream)
            self._buffers.give_after(stream.record(), buffer, piece.size)

    def download(self, target: Bytes, pointer: int, stream: Any) -> None:
        """Fill `target` from the device; complete when this returns. Waits for no other stream."""
        landing: deque[tuple[Bytes, Bytes, Event]] = deque()
        try:
            for start in range(0, target.size, self._piece_bytes):
                piece = target[start : start + self._piece_bytes]
                buffer = self._buffers.take(piece.size)
                self._copy_out(buffer.ctypes.data, pointer + start, piece.size, stream)
                landing.append((piece, buffer, stream.record()))
                # While the host copies one piece, the next is on its way.
                if len(landing) > 1:
                    self._land_next(landing)
            while landing:
                self._land_next(landing)
        finally:
            # After Ctrl-C or a failure the device may still write to the buffers.
            for piece, buffer, event in landing:
                self._buffers.give_after(event, buffer, piece.size)

    def wipe(self) -> None:
        """Wait for all uploads, and wipe their buffers."""
        self._buffers.wipe()

    def _land_next(self, landing: deque[tuple[Bytes, Bytes, Event]]) -> None:
        landing[0][2].synchronize()
        piece, buffer, _ = landing.popleft()
        piece[:] = buffer[: piece.size]
        self._buffers.give(buffer, piece.size)
