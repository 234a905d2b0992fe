"""What lies in a mailbox for one peer and from one peer: numbered, in order, each message once."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field

from hekat.channel.mailbox.parcel import DATA, MAX_ITEMS, Item

# A parcel is one message, or as many small ones as fit: engines carry a few MiB best.
PARCEL_BYTES = 4 << 20


@dataclass
class Outbox:
    """Messages to one peer that it has not acknowledged yet."""

    items: deque[Item] = field(default_factory=deque)
    waiting_bytes: int = 0
    next_sequence: int = 0

    def put(self, kind: str, step: str, payload: bytes) -> None:
        self.items.append(Item(self.next_sequence, kind, step, payload))
        self.next_sequence += 1
        self.waiting_bytes += len(payload)

    def first(self) -> list[Item]:
        """What the next parcel carries: at least one message, if there is one."""
        chosen: list[Item] = []
        size = 0
        for item in self.items:
            if chosen and (size + len(item.payload) > PARCEL_BYTES or len(chosen) == MAX_ITEMS):
                break
            chosen.append(item)
            size += len(item.payload)
        return chosen

    def settle(self, next_sequence: int) -> bool:
        """Forget all messages below `next_sequence`; whether there were any. What was never sent cannot have come."""
        settled = False
        while self.items and self.items[0].sequence < min(next_sequence, self.next_sequence):
            self.waiting_bytes -= len(self.items.popleft().payload)
            settled = True
        return settled

    def drop_data(self) -> None:
        """Keep none but words of who left: the peer will never read the rest.

        Numbers are kept without a gap: a dropped message goes on as an empty one of no step.
        """
        self.items = deque(
            item if item.kind != DATA else Item(item.sequence, item.kind, _DROPPED, b"") for item in self.items
        )
        self.waiting_bytes = sum(len(item.payload) for item in self.items)


_DROPPED = "hekat/dropped"


@dataclass
class Inbox:
    """Messages of one peer that the role has not read yet. `instance`: the peer's process, once it was heard of."""

    instance: bytes | None = None
    next_sequence: int = 0
    messages: deque[Item] = field(default_factory=deque)
    waiting_bytes: int = 0
    was_busy: bool = False
    """Whether the peer was told last that there is no room."""

    def take(self, step: str) -> bytes | None:
        """The payload of the oldest message for `step`, removed; None where there is none."""
        for index, item in enumerate(self.messages):
            if item.step == step:
                del self.messages[index]
                self.waiting_bytes -= len(item.payload)
                return item.payload
        return None

    def has(self, step: str) -> bool:
        return any(item.step == step for item in self.messages)

    def admit(self, items: list[Item], has_room: Callable[[int], bool], on_word: Callable[[Item], None]) -> bool:
        """Take what is new of a parcel, in order; whether all of it was taken.

        A message that came before is passed over. Behind a gap nothing is taken: its sender has it still.
        """
        self.was_busy = False
        for item in items:
            if item.sequence < self.next_sequence:
                continue
            if item.sequence > self.next_sequence:
                return False
            if item.kind == DATA and item.step != _DROPPED:
                if not has_room(len(item.payload)):
                    self.was_busy = True
                    return False
                self.messages.append(item)
                self.waiting_bytes += len(item.payload)
            elif item.kind != DATA:
                on_word(item)
            self.next_sequence += 1
        return True

    def clear(self) -> None:
        self.messages.clear()
        self.waiting_bytes = 0
