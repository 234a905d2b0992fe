"""Streams of an emulated device: what a thread queues is done late, in a random order that the waits allow.

A stream is done up to somewhere when somebody needs it: a download, a function on arrays, something that waits for it.
Besides, whenever something is queued, random streams go on by a few steps. So work that should wait for another
thread's and does not reads what was not written yet, or what is wiped already.
"""

from __future__ import annotations

import random
import threading
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from hekat.engine.cuda.memory.ordering import ThreadStreams

MOST_STEPS = 4


@dataclass(frozen=True)
class Event:
    """Over when its stream has done `count` entries."""

    stream: EmulatedStream
    count: int

    @property
    def is_over(self) -> bool:
        return self.stream.done >= self.count


@dataclass(eq=False)
class EmulatedStream:
    """`hekat.engine.cuda.memory.ordering.Stream`: a queue of functions to call and events to wait for."""

    lock: threading.RLock
    queue: deque[Callable[[], None] | Event] = field(default_factory=deque)
    queued: int = 0
    done: int = 0

    def record(self) -> Event:
        with self.lock:
            return Event(self, self.queued)

    def wait_event(self, event: Event) -> None:
        self.append(event)

    def append(self, entry: Callable[[], None] | Event) -> None:
        with self.lock:
            self.queued += 1
            self.queue.append(entry)

    def step(self) -> bool:
        """Do the next entry; False where there is none, or it waits for another stream."""
        if not self.queue or (isinstance(self.queue[0], Event) and not self.queue[0].is_over):
            return False
        entry = self.queue.popleft()
        if not isinstance(entry, Event):
            entry()
        self.done += 1
        return True

    def finish(self, count: int) -> None:
        """Do the first `count` entries, and on other streams what they wait for."""
        while self.done < count:
            entry = self.queue[0]
            if isinstance(entry, Event):
                entry.stream.finish(entry.count)
            self.step()


class Streams:
    """The streams of all threads on one device, whose `lock` is re-entrant: memory may be freed in the middle of it."""

    def __init__(self, seed: int, lock: threading.RLock) -> None:
        self.all: list[EmulatedStream] = []
        self._of_threads = ThreadStreams(self.make)
        self._random = random.Random(seed)
        self._lock = lock

    @property
    def current(self) -> Any:
        """The calling thread's stream."""
        return self._of_threads.current()

    def submit(self, stream: EmulatedStream, work: Callable[[], None]) -> None:
        """Queue `work`, and let some streams go on."""
        with self._lock:
            stream.append(work)
            for _ in range(self._random.randrange(MOST_STEPS)):
                self._random.choice(self.all).step()

    def finish(self, stream: EmulatedStream) -> None:
        """Do all that is queued on `stream`."""
        with self._lock:
            stream.finish(stream.queued)

    def make(self) -> EmulatedStream:
        """A stream of no thread's own."""
        stream = EmulatedStream(self._lock)
        with self._lock:
            self.all.append(stream)
        return stream
