"""Whether a role has seen all that came and waits for what has not: then its courier takes what it sent."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from threading import Condition


class Settling:
    """Counts what is new to a mailbox's role; every call is made with the lock of `changed` held."""

    def __init__(self, changed: Condition) -> None:
        self._changed = changed
        self._news = self._seen = 0
        self._is_waiting = False

    @property
    def is_settled(self) -> bool:
        """Whether the role waits, and found nothing of what came to be what it waits for."""
        return self._is_waiting and self._seen == self._news

    def tell(self) -> None:
        """Something came, or is known, that may end a wait."""
        self._news += 1
        self._changed.notify_all()

    def see(self) -> None:
        """The waiting role has looked at all of it."""
        if self._seen != self._news:
            self._seen = self._news
            self._changed.notify_all()

    @contextmanager
    def waiting(self) -> Iterator[None]:
        """While the block runs the role waits; it has seen nothing yet."""
        self._is_waiting, self._seen = True, -1
        try:
            yield
        finally:
            self._is_waiting = False
