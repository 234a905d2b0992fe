"""The turn: whoever holds it computes, and hands it to the next in the order in which they lined up."""

from __future__ import annotations

from collections import deque
from threading import Lock
from types import TracebackType


def locked_gate() -> Lock:
    """What a thread that lines up waits to acquire."""
    gate = Lock()
    gate.acquire()
    return gate


class Turn:
    """A lock of threads that take turns, in the order in which they lined up.

    Of all threads that could go on, the one that has the turn is awake. With a plain lock the others would wake too,
    only to find it taken.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._is_held = False
        self._line: deque[Lock] = deque()

    def acquire(self) -> None:
        """Wait until it is this thread's turn."""
        gate = locked_gate()
        self.line_up(gate)
        gate.acquire()

    def release(self) -> None:
        """Hand it to the first in line. Raises RuntimeError where nobody holds it."""
        with self._lock:
            if not self._is_held:
                raise RuntimeError("a turn is given back that nobody holds")
            if self._line:
                self._line.popleft().release()
            else:
                self._is_held = False

    def line_up(self, gate: Lock) -> None:
        """Put whoever waits to acquire `gate`, a locked one, at the end of the line: it opens with its turn."""
        with self._lock:
            if self._is_held:
                self._line.append(gate)
            else:
                self._is_held = True
                gate.release()

    def locked(self) -> bool:
        """Whether a thread holds it."""
        return self._is_held

    def __enter__(self) -> None:
        self.acquire()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.release()
