"""What lies in a mailbox for one peer and from one peer: numbered, in order, each message once."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field

from hekat.channel.mailbox.parcel import DATA, EXPELLED, MAX_ITEMS, Item
from hekat.channel.unread import describe_unread

# A parcel is one message, or as many small ones as fit: engines carry a few MiB best.
PARCEL_BYTES = 4 << 20
# What a message takes beside its payload, about: else many small ones would take any memory.
MESSAGE_BYTES = 1024
_DROPPED = "hekat/dropped"


def room_of(item: Item) -> int:
    """The bytes that a message takes while it waits; nothing for words of an end and for what was dropped."""
    return len(item.payload) + MESSAGE_BYTES if item.kind == DATA and item.step != _DROPPED else 0


@dataclass
class Outbox:
    """Messages to one peer that it has not acknowledged yet."""

    items: deque[Item] = field(default_factory=deque)
    waiting_bytes: int = 0
    next_sequence: int = 0

    def put(self, kind: str, step: str, payload: bytes) -> None:
        item = Item(self.next_sequence, kind, step, payload)
        self.items.append(item)
        self.next_sequence += 1
        self.waiting_bytes += room_of(item)

    def first(self) -> list[Item]:
        """What the next parcel carries: at least one message, if there is one, and all words of who is given up on."""
        chosen: list[Item] = []
        size = 0
        is_full = False
        for item in self.items:
            # The other half is for words: there are no more of them than parties.
            is_full = is_full or (bool(chosen) and size + len(item.payload) > PARCEL_BYTES)
            is_full = is_full or len(chosen) == MAX_ITEMS // 2
            if not is_full or (item.kind == EXPELLED and len(chosen) < MAX_ITEMS):
                chosen.append(item)
                size += len(item.payload)
        return chosen

    def settle(self, next_sequence: int) -> bool:
        """Forget all messages below `next_sequence`; whether there were any. What was never sent cannot have come."""
        settled = False
        while self.items and self.items[0].sequence < min(next_sequence, self.next_sequence):
            self.waiting_bytes -= room_of(self.items.popleft())
            settled = True
        return settled

    def drop_data(self) -> None:
        """Keep none but words of who left: the peer will never read the rest.

        Numbers are kept without a gap: a dropped message goes on as an empty one of no step.
        """
        self.items = deque(
            item if item.kind != DATA else Item(item.sequence, item.kind, _DROPPED, b"") for item in self.items
        )
        self.waiting_bytes = 0


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
                self.waiting_bytes -= room_of(item)
                return item.payload
        return None

    def has(self, step: str) -> bool:
        return any(item.step == step for item in self.messages)

    def describe_unread(self, sender: str) -> str:
        """The steps of the unread messages of `sender`, for an error; "" where there are none."""
        return describe_unread(sender, (item.step for item in self.messages))

    def admit(self, items: list[Item], has_room: Callable[[int], bool], on_word: Callable[[Item], None]) -> bool:
        """Take what is new of a parcel, in order; whether all of it was taken.

        A message that came before is passed over. Behind a gap nothing is taken: its sender has it still. But a word of
        who is given up on counts at once, and again at its turn: the role may wait for that one, and so make no room.
        """
        self.was_busy = False
        for index, item in enumerate(items):
            if item.sequence < self.next_sequence:
                continue
            size = room_of(item)
            if item.sequence > self.next_sequence or (size and not has_room(size)):
                self.was_busy = item.sequence == self.next_sequence
                for later in items[index:]:
                    if later.kind == EXPELLED:
                        on_word(later)
                return False
            if size:
                self.messages.append(item)
                self.waiting_bytes += size
            elif item.kind != DATA:
                on_word(item)
            self.next_sequence += 1
        return True

    def clear(self) -> None:
        self.messages.clear()
        self.waiting_bytes = 0
