"""An engine in memory that brings parcels from mailbox to mailbox, and does to them what networks do."""

from __future__ import annotations

import random
import threading
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from typing import ClassVar

import pytest

from hekat.channel.mailbox import MailboxChannel, UndeliveredError, carriers

# Far more than a test takes: a rule that is broken fails by its error, not by a hang.
LIMIT_S = 20.0

Change = Callable[[bytes], bytes]
DELAY_S = 0.02
GAP = 3


def shorten_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a mailbox deliver again at once, or nearly so: nothing here needs time to recover."""
    monkeypatch.setattr(carriers, "_FIRST_PAUSE_S", 0.002)
    monkeypatch.setattr(carriers, "_LONGEST_PAUSE_S", 0.05)


@dataclass
class Faults:
    """The odds of each fault, of a parcel or of its receipt.

    `late` parcels come once more, after later ones, whether they came before or not. `delay`: the receipt takes
    `DELAY_S`. `flap`: the receiver is out of reach for the next `GAP` deliveries to it. `restart`: the relay forgets
    what it still had, and carries nothing for its next `GAP` deliveries.
    """

    drop: float = 0.0
    drop_receipt: float = 0.0
    double: float = 0.0
    late: float = 0.0
    truncate: float = 0.0
    delay: float = 0.0
    flap: float = 0.0
    restart: float = 0.0


FAULTS = {
    "drops": Faults(drop=0.3),
    "drops receipts": Faults(drop_receipt=0.3),
    "doubles": Faults(double=0.5),
    "brings old parcels again": Faults(late=0.5),
    "truncates": Faults(truncate=0.3),
    "delays": Faults(delay=0.3),
    "flaps": Faults(flap=0.1),
    "restarts": Faults(restart=0.1),
    "everything": Faults(0.15, 0.15, 0.2, 0.2, 0.1, 0.1, 0.03, 0.03),
}


@dataclass
class FakeRelay:
    """The mailboxes of a run. `cut` peers are out of reach; `seen` has all bytes that passed."""

    faults: Faults = field(default_factory=Faults)
    seed: int = 0
    change: Callable[[str, str, bytes], bytes] = lambda sender, to, parcel: parcel
    mailboxes: dict[str, MailboxChannel] = field(default_factory=dict)
    cut: set[str] = field(default_factory=set)
    seen: list[bytes] = field(default_factory=list)
    made: ClassVar[list[MailboxChannel]] = []

    def __post_init__(self) -> None:
        self._random = random.Random(self.seed)
        self._lock = threading.Lock()
        self._late: list[tuple[str, bytes]] = []
        self._gaps: dict[str, int] = {}

    def add(self, role: str, roles: tuple[str, ...], **settings) -> MailboxChannel:
        settings = {
            "run_id": "run-1",
            "timeout_s": LIMIT_S,
            "lost_after_s": LIMIT_S,
            "first_contact_s": LIMIT_S,
        } | settings
        self.mailboxes[role] = MailboxChannel(role, roles, _End(self, role), **settings)
        self.made.append(self.mailboxes[role])
        return self.mailboxes[role]

    def add_all(self, roles: tuple[str, ...], may_be_lost: Collection[str] = (), **settings) -> list[MailboxChannel]:
        return [self.add(role, roles, may_be_lost=may_be_lost, **settings) for role in roles]

    def deliver(self, sender: str, to: str, parcel: bytes) -> bytes:
        with self._lock:
            is_hit = {name: self._random.random() < odds for name, odds in vars(self.faults).items()}
            self.seen.append(parcel)
            late, self._late = (self._late, []) if self._random.random() < 0.5 else ([], self._late)
            if is_hit["late"]:
                self._late.append((to, parcel))
            if is_hit["restart"]:
                self._late, self._gaps[""] = [], GAP
            if is_hit["flap"]:
                self._gaps[to] = GAP
            is_down = self._pass_gap("") or self._pass_gap(to)
        for peer, old in late:
            self._hand_over(peer, old)
        if is_hit["drop"] or is_down or sender in self.cut or to in self.cut:
            raise UndeliveredError("dropped")
        if is_hit["delay"]:
            threading.Event().wait(DELAY_S)
        parcel = self.change(sender, to, parcel)
        if is_hit["truncate"]:
            parcel = parcel[: len(parcel) // 2]
        receipt = self._hand_over(to, parcel)
        if is_hit["double"]:
            receipt = self._hand_over(to, parcel)
        if is_hit["drop_receipt"]:
            raise UndeliveredError("the receipt was dropped")
        return receipt

    def _pass_gap(self, name: str) -> bool:
        left = self._gaps.get(name, 0)
        self._gaps[name] = max(0, left - 1)
        return left > 0

    def _hand_over(self, to: str, parcel: bytes) -> bytes:
        if to not in self.mailboxes:
            raise UndeliveredError("nobody there yet")
        return self.mailboxes[to].accept(parcel)


@dataclass
class _End:
    relay: FakeRelay
    role: str

    def deliver(self, to: str, parcel: bytes, timeout_s: float) -> bytes:
        return self.relay.deliver(self.role, to, parcel)
