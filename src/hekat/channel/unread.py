"""Messages that a party need not read: which steps they are of, and those that were taken from the relay too early."""

from __future__ import annotations

from collections.abc import Callable, Iterator

Take = Callable[[bytes], None]


class UnreadSteps:
    """Of one sender, in the order in which it comes to these steps."""

    def __init__(self) -> None:
        self._takes: dict[str, Take] = {}
        self._early: dict[str, bytes] = {}

    def __iter__(self) -> Iterator[str]:
        return iter(tuple(self._takes))

    def allow(self, step: str, take: Take) -> None:
        """From now on messages in `step` may stay unread; one that is read past goes to `take`."""
        self._takes.setdefault(step, take)

    def take(self, step: str, payload: bytes) -> None:
        """Hand over the payload of a message that nobody asked for."""
        self._takes[step](payload)

    def note_read(self, step: str) -> None:
        """A message in `step` was read: of the steps allowed before it nothing comes any more."""
        if step in self._takes:
            while (first := next(iter(self._takes))) != step:
                del self._takes[first]

    def keep(self, step: str, data: bytes) -> None:
        """Keep a message that is not its turn yet: the next one of its step."""
        self._early[step] = data

    def next_kept(self, step: str) -> bytes | None:
        """The message that was kept of this step, if any; it is not kept any longer."""
        return self._early.pop(step, None)
