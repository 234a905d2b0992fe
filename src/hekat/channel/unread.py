"""Messages that a party has not read, or need not read: which steps they are of, and how many of each may come."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from hekat.channel.message_place import describe_message
from hekat.errors import SealError
from hekat.first_few import first_few

Take = Callable[[bytes], None]
_MOST_SHOWN = 5


def describe_unread(sender: str, steps: Iterable[str]) -> str:
    """The steps of unread messages of `sender`, for an error; "" where there are none."""
    different = list(dict.fromkeys(steps))
    if not different:
        return ""
    return f" (unread from {sender!r}: {first_few([*map(repr, different)], _MOST_SHOWN)})"


@dataclass
class _Allowed:
    """A step whose messages may stay unread: what takes them, how many at most, and how many came."""

    take: Take
    at_most: int
    count: int = 0


class UnreadSteps:
    """Of one sender, in the order in which it comes to these steps."""

    def __init__(self, sender: str) -> None:
        self._sender = sender
        self._steps: dict[str, _Allowed] = {}

    def __iter__(self) -> Iterator[str]:
        return iter(tuple(self._steps))

    def allow(self, step: str, take: Take, at_most: int) -> None:
        """From now on `at_most` messages in `step` may stay unread; one that is read past goes to `take`."""
        self._steps.setdefault(step, _Allowed(take, at_most))

    def count(self, step: str) -> None:
        """One more message in `step` came unread. Raises SealError beyond as many as may come.

        Else a sender could have its receiver read past messages without end, in one call.
        """
        allowed = self._steps[step]
        if allowed.count >= allowed.at_most:
            raise SealError(
                f"{describe_message(self._sender, step)} came unread once too often",
                expected=f"at most {allowed.at_most} of that step which nobody asked for",
                got="one more",
                cure=f"ask who runs {self._sender!r}; resume in a new session",
            )
        allowed.count += 1

    def take(self, step: str, payload: bytes) -> None:
        """Hand over the payload of a message that nobody asked for."""
        self.note_read(step)
        self._steps[step].take(payload)

    def note_read(self, step: str) -> None:
        """A message in `step` was read, or read past: of the steps allowed before it nothing comes any more."""
        if step in self._steps:
            while (first := next(iter(self._steps))) != step:
                del self._steps[first]
