"""A star-shaped engine that stores and forwards: it plays real roles, and counts the legs that they need.

A leg is one exchange: a batch of messages from the hub to all other roles, each of which computes until it waits for
something that it lacks, and their messages back. What roles send each other goes along through the hub.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Collection, Mapping
from contextlib import nullcontext
from dataclasses import dataclass, field
from typing import Any

from hekat.channel.dropout_notice import DropoutNotice

# Far more than a test takes: roles that wait for each other fail the test, and do not hang it.
LIMIT_S = 300.0


@dataclass(frozen=True)
class _Carried:
    to: str
    sender: str
    step: str
    payload: bytes = field(repr=False)


class Star:
    """The engine between `roles`, of which `hub` is in the middle. `legs` counts the exchanges begun so far."""

    def __init__(self, roles: Collection[str], hub: str, turn: threading.Lock | None = None) -> None:
        self.roles, self.hub, self.legs = tuple(roles), hub, 0
        self.steps: list[list[str]] = []
        """By leg, the steps of the messages that it brought to the roles around the hub."""
        self._turn = turn
        self._changed = threading.Condition()
        self._arrived: dict[tuple[str, str, str], deque[bytes]] = {}
        self._sent: list[_Carried] = []
        self._waits: dict[str, tuple[str, str, str]] = {}
        self._ended: set[str] = set()

    def send(self, message: _Carried) -> None:
        with self._changed:
            self._sent.append(message)

    def receive(self, role: str, sender: str, step: str) -> bytes:
        """The next such message that was brought, however long that takes."""
        key = (role, sender, step)
        if self._turn is not None:
            self._turn.release()
        try:
            with self._changed:
                while not self._arrived.get(key):
                    self._waits[role] = key
                    self._changed.notify_all()
                    assert self._changed.wait(LIMIT_S), f"{role} waits for {step} of {sender}"
                return self._arrived[key].popleft()
        finally:
            if self._turn is not None:
                self._turn.acquire()

    def end(self, role: str) -> None:
        with self._changed:
            self._ended.add(role)
            self._changed.notify_all()

    def carry(self) -> None:
        """Bring messages until every role has ended."""
        around = [role for role in self.roles if role != self.hub]
        self._let_compute(self.roles)
        waiting = self._collect()
        while len(self._ended) < len(self.roles):
            inward = [message for message in waiting if message.to == self.hub]
            self._bring(inward)
            self._let_compute([self.hub])
            outward = [message for message in waiting if message.to != self.hub] + self._collect()
            assert inward or outward, f"all roles wait: {self._waits}"
            if not outward:
                waiting = []
                continue
            self.legs += 1
            self.steps.append([message.step for message in outward])
            self._bring(outward)
            self._let_compute(around)
            waiting = self._collect()

    def _bring(self, messages: Collection[_Carried]) -> None:
        with self._changed:
            for message in messages:
                key = (message.to, message.sender, message.step)
                self._arrived.setdefault(key, deque()).append(message.payload)
                if self._waits.get(message.to) == key:
                    del self._waits[message.to]
            self._changed.notify_all()

    def _let_compute(self, roles: Collection[str]) -> None:
        """Until each of them waits or has ended."""
        with self._changed:
            done = self._changed.wait_for(
                lambda: all(one in self._ended or one in self._waits for one in roles), LIMIT_S
            )
            assert done, f"no end of computing: {[one for one in roles if one not in self._waits]}"

    def _collect(self) -> list[_Carried]:
        with self._changed:
            sent, self._sent = self._sent, []
            return sent


@dataclass
class StarChannel:
    """One role's end: `Channel`, where nobody is lost."""

    star: Star
    party: str

    @property
    def parties(self) -> tuple[str, ...]:
        return self.star.roles

    def send(self, to: str, step: str, payload: bytes, *, timeout_s: float | None = None) -> None:
        self.star.send(_Carried(to, self.party, step, payload))

    def receive(self, sender: str, step: str, *, timeout_s: float | None = None) -> bytes:
        return self.star.receive(self.party, sender, step)

    def note_saved(self, what: str) -> None:
        return None

    def leave(self, notice: DropoutNotice) -> None:
        return None

    def expel(self, party: str, reason: str, notice: DropoutNotice | None = None) -> None:
        raise AssertionError(f"{self.party} gives up on {party}: {reason}")


def play_over(star: Star, roles: Mapping[str, Callable[[Any], Any]]) -> dict[str, Any]:
    """What the roles return, each played in a thread of its own; raises what one of them raised."""
    results: dict[str, Any] = {}
    errors: list[BaseException] = []

    def play(name: str) -> None:
        try:
            with star._turn or nullcontext():
                results[name] = roles[name](StarChannel(star, name))
        except BaseException as error:
            errors.append(error)
        finally:
            star.end(name)

    threads = [threading.Thread(target=play, args=(name,), daemon=True) for name in roles]
    for thread in threads:
        thread.start()
    try:
        star.carry()
    except AssertionError as stuck:
        raise (errors[0] if errors else stuck) from stuck
    for thread in threads:
        thread.join(LIMIT_S)
    if errors:
        raise errors[0]
    return results
