"""Messages that a party has not read: which steps they are of."""

from __future__ import annotations

from collections.abc import Iterable

from hekat.first_few import first_few

_MOST_SHOWN = 5


def describe_unread(sender: str, steps: Iterable[str]) -> str:
    """The steps of unread messages of `sender`, for an error; "" where there are none."""
    different = list(dict.fromkeys(steps))
    if not different:
        return ""
    return f" (unread from {sender!r}: {first_few([*map(repr, different)], _MOST_SHOWN)})"
