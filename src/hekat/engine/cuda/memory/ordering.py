"""The order between threads' streams: which stream waits for which, before memory is used and before it is freed.

Each host thread queues its work on a stream of its own, in order. Memory has a home: the stream of the thread that
allocated it. The rules, for every kernel, copy and function on arrays:

1. Only the home stream writes memory, and only until another thread has it. Results do not change.
2. Before another stream uses memory, that stream waits once for the work that the home has queued by then; nobody
   writes the memory after that. Published memory is complete already, and no stream waits for it.
3. When the last array on the memory goes, the home waits for the work that every other stream with a use of it has
   queued by then. Only then does the home wipe it and lend it again, to its own work. This holds for published memory
   too.

So streams of threads that share nothing never wait for each other. A stream records an event only when another stream
has to wait: the event covers more work than necessary, but costs nothing where no stream waits.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable
from typing import Any, Protocol


class Stream(Protocol):
    """A queue of work on a device, done in order; cupy.cuda.Stream is one. Any thread may call it."""

    def record(self) -> Any:
        """An event that is over when all work queued so far is done."""
        ...

    def wait_event(self, event: Any) -> None:
        """Work queued from here on begins after `event`."""
        ...


class MemoryOrder:
    """The order of one allocation. Calls may come from several threads, `before_free` from a garbage collection."""

    __slots__ = ("_complete", "_home", "_lock", "_others")

    def __init__(self, home: Stream) -> None:
        self._home = home
        self._complete = False
        self._others: dict[int, Stream] = {}
        self._lock = threading.Lock()

    @property
    def home(self) -> Stream:
        """The stream of the thread that allocated it."""
        return self._home

    @property
    def is_shared(self) -> bool:
        """Whether another stream has used it or it is published: from then on nobody writes it."""
        return self._complete or bool(self._others)

    def is_ordered_for(self, stream: Stream) -> bool:
        """Whether work queued on `stream` may use it now."""
        return stream is self._home or id(stream) in self._others

    def before_use(self, stream: Stream) -> None:
        """Called before work that uses the memory is queued on `stream`, for each array of the work."""
        if self.is_ordered_for(stream):
            return
        with self._lock:
            if not self._complete and id(stream) not in self._others:
                stream.wait_event(self._home.record())
            # Kept, so that its id stays unique, and others can wait for the stream's work after its thread has ended.
            self._others[id(stream)] = stream

    def publish(self) -> None:
        """Called once the home stream is synchronised, so that all writes are done."""
        self._complete = True

    def before_free(self) -> None:
        """Called when no array is left on the memory, before it is wiped on its home stream."""
        # No lock: nobody else has the memory, and a garbage collection may run this in the middle of anything.
        for stream in self._others.values():
            self._home.wait_event(stream.record())
        self._others.clear()


class ThreadStreams:
    """A stream for each host thread; when a thread has ended, the next thread that begins borrows its stream.

    So the number of streams, each with memory in the pool, is the largest number of threads ever at work at once.
    """

    def __init__(self, make: Callable[[], Any]) -> None:
        self._make = make
        self._free: list[Any] = []
        self._own = threading.local()

    def current(self) -> Any:
        """The calling thread's stream."""
        lent: _Lent | None = getattr(self._own, "lent", None)
        if lent is None:
            # A single operation each, so no two threads pop the same stream.
            try:
                stream = self._free.pop()
            except IndexError:
                stream = self._make()
            lent = self._own.lent = _Lent(stream)
            weakref.finalize(lent, self._free.append, stream).atexit = False
        return lent.stream


class _Lent:
    """The stream that a thread holds as long as it lives."""

    __slots__ = ("__weakref__", "stream")

    def __init__(self, stream: Any) -> None:
        self.stream = stream
