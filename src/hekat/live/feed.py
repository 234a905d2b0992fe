"""Hands the newest snapshot from the thread that makes it to any number of readers; none of them can hold it up."""

from __future__ import annotations

import asyncio
import secrets
import threading
from dataclasses import dataclass


@dataclass(frozen=True)
class Snapshot:
    """A state as JSON with its number, from 1 on; nothing follows the last one."""

    number: int
    data: bytes
    is_last: bool = False


class Feed:
    """Keeps one snapshot: a reader that is slow misses those between, and no queue grows.

    `publish` may be called from any thread, `wait_for_newer` in the event loop that `serve_in` named.
    """

    def __init__(self) -> None:
        self.series = secrets.token_hex(4)
        """Tells this run's numbers from the numbers of an earlier run at the same address."""
        self._newest: Snapshot | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._waiting: set[asyncio.Event] = set()
        self._is_over = False
        self._lock = threading.Lock()

    @property
    def is_over(self) -> bool:
        """Whether nothing follows the newest snapshot."""
        return self._is_over

    @property
    def newest(self) -> Snapshot | None:
        """The newest snapshot, None before the first."""
        return self._newest

    def serve_in(self, loop: asyncio.AbstractEventLoop) -> None:
        """Wake the readers of that event loop."""
        with self._lock:
            self._loop = loop

    def leave_loop(self) -> None:
        """Wake nobody any more: the event loop is about to end."""
        with self._lock:
            self._loop = None

    def publish(self, data: bytes, *, is_last: bool = False) -> None:
        """Put a snapshot in the place of the one before; what comes after the last one is left out."""
        with self._lock:
            if self._is_over:
                return
            number = 1 if self._newest is None else self._newest.number + 1
            self._newest = Snapshot(number, data, is_last)
            self._is_over = is_last
            self._wake_readers()

    def end(self) -> None:
        """Let nothing follow, whether or not the newest snapshot was to be the last one."""
        with self._lock:
            self._is_over = True
            self._wake_readers()

    async def wait_for_newer(self, number: int, timeout_s: float) -> Snapshot | None:
        """The newest snapshot once it has a higher number; None where none does in time or none follows at all."""
        woken = asyncio.Event()
        self._waiting.add(woken)
        try:
            is_newer = self._newest is not None and self._newest.number > number
            if not is_newer and not self._is_over:
                await asyncio.wait_for(woken.wait(), timeout_s)
        except TimeoutError:
            return None
        finally:
            self._waiting.discard(woken)
        found = self._newest
        return found if found is not None and found.number > number else None

    def _wake_readers(self) -> None:
        if self._loop is not None:
            self._loop.call_soon_threadsafe(self._wake)

    def _wake(self) -> None:
        for woken in self._waiting:
            woken.set()
