"""A hub whose waits a test can see: who waits has begun to, and what ends the wait is what the party is told."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable

from hekat.channel import Channel, InProcessHub
from hekat.errors import (
    HekatError,
    InputError,
)

# Far more than a test takes: a rule that is broken fails by its error, not by a hang.
LIMIT_S = 20.0


def hub_of(names: str, may_be_lost: str, **settings) -> InProcessHub:
    return InProcessHub(tuple(names), LIMIT_S, may_be_lost=frozenset(may_be_lost), **settings)


class TellingCondition(threading.Condition):
    """`begun` is set by whoever waits; it has let go of the lock by the time another one gets it."""

    def __init__(self, lock: threading.RLock, begun: threading.Event) -> None:
        super().__init__(lock)
        self.begun = begun

    def wait(self, timeout: float | None = None) -> bool:
        self.begun.set()
        return super().wait(timeout)


def telling_of_waits(hub: InProcessHub) -> threading.Event:
    """An event that is set once a party of the hub waits."""
    begun = threading.Event()
    hub._woken = {name: TellingCondition(hub._lock, begun) for name in hub.parties}
    return begun


def error_of_waiting(hub: InProcessHub, call: Callable[[], object], then: Callable[[], None]) -> HekatError:
    """What `call` raises in its wait, which has no time-out, once `then` has happened."""
    hub._timeout_s = math.inf
    begun = telling_of_waits(hub)
    found: list[HekatError] = []

    def wait() -> None:
        try:
            call()
        except HekatError as error:
            found.append(error)

    thread = threading.Thread(target=wait, daemon=True)
    thread.start()
    assert begun.wait(LIMIT_S)
    then()
    thread.join(LIMIT_S)
    assert found, "it still waits"
    return found[0]


def returns(channel: Channel) -> str:
    return channel.party


def fails(channel: Channel) -> str:
    raise InputError("label missing in row 17", cure="look at row 17")
