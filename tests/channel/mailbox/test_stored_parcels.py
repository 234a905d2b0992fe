"""Mailboxes over an engine that keeps parcels and brings them later, as couriers do."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pytest
from tests.channel.mailbox.fake_relay import LIMIT_S

from hekat.channel.mailbox import MailboxChannel
from hekat.channel.mailbox.departures import write_notice
from hekat.channel.mailbox.parcel import DATA, FINISHED, Item, Parcel, decode_parcel
from hekat.errors import ChannelTimeoutError

ROLES = ("north", "lake", "hub")


@dataclass
class _Shelf:
    """A post that keeps parcels until they are taken."""

    kept: list[tuple[str, bytes]] = field(default_factory=list)

    def deliver(self, to: str, parcel: bytes, timeout_s: float) -> bytes:
        self.kept.append((to, parcel))
        return b""

    def take(self) -> list[tuple[str, bytes]]:
        taken, self.kept = self.kept, []
        return taken


def _end(role: str, **settings: Any) -> tuple[MailboxChannel, _Shelf]:
    shelf = _Shelf()
    settings = {"run_id": "run-1", "timeout_s": LIMIT_S, "may_be_lost": ("north", "lake"), **settings}
    return MailboxChannel(role, ROLES, shelf, stores_parcels=True, **settings), shelf


def _played(role: Callable[[], Any]) -> tuple[threading.Thread, list[Any]]:
    ended: list[Any] = []

    def run() -> None:
        try:
            ended.append(role())
        except Exception as error:
            ended.append(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    return thread, ended


def _never() -> bool:
    return False


def _data(sequence: int, payload: bytes = b"x", step: str = "one") -> bytes:
    return Parcel("run-1", "north", "hub", b"n" * 16, [Item(sequence, DATA, step, payload)]).encode()


def test_a_role_settles_once_its_parcels_are_kept_and_it_waits_for_what_has_not_come() -> None:
    hub, shelf = _end("hub")
    north, northern = _end("north")

    def play() -> bytes:
        for peer in ("north", "lake"):
            hub.send(peer, "ask", peer.encode())
        return hub.receive("north", "answer")

    thread, ended = _played(play)
    assert hub.wait_until_settled(_never, LIMIT_S)
    taken = shelf.take()
    assert sorted(to for to, _ in taken) == ["lake", "north"]
    for parcel in (parcel for to, parcel in taken if to == "north"):
        north.accept(parcel)
    assert north.receive("hub", "ask") == b"north"
    north.send("hub", "other", b"not awaited")
    assert north.wait_until_settled(lambda: True, LIMIT_S)
    for _, parcel in northern.take():
        hub.accept(parcel)
    # It has looked at what came, and waits on.
    assert hub.wait_until_settled(_never, LIMIT_S)
    north.send("hub", "answer", b"42")
    assert north.wait_until_settled(lambda: True, LIMIT_S)
    for _, parcel in northern.take():
        hub.accept(parcel)
    thread.join(LIMIT_S)
    assert ended == [b"42"]


def test_nothing_settles_while_the_role_computes() -> None:
    hub, _ = _end("hub")
    assert not hub.wait_until_settled(_never, 0.05)


def test_a_kept_parcel_is_not_sent_again_and_no_peer_is_asked() -> None:
    hub, shelf = _end("hub", lost_after_s=0.2, first_contact_s=0.2)
    hub.send("north", "ask", b"1")
    thread, ended = _played(lambda: hub.receive("north", "answer", timeout_s=1.5))
    thread.join(LIMIT_S)
    assert isinstance(ended[0], ChannelTimeoutError)
    assert len(shelf.take()) == 1


def test_a_peer_that_the_engine_lost_ends_the_wait_for_it_alone() -> None:
    hub, shelf = _end("hub")
    thread, ended = _played(lambda: hub.receive("north", "answer"))
    assert hub.wait_until_settled(_never, LIMIT_S)
    hub.note_out_of_reach("lake")
    assert hub.wait_until_settled(_never, LIMIT_S)
    hub.note_out_of_reach("north")
    thread.join(LIMIT_S)
    assert isinstance(ended[0], ChannelTimeoutError)
    assert not shelf.kept


@pytest.mark.parametrize(
    ("parcels", "max_waiting_bytes"),
    [([_data(0), _data(2)], 1 << 20), ([_data(0, b"x" * 60), _data(1, b"x" * 60)], 100)],
    ids=["one is missing", "more than there is room for"],
)
def test_a_peer_whose_messages_cannot_come_any_more_is_out_of_reach(parcels, max_waiting_bytes: int) -> None:
    """A carrier that drops, or a peer that floods, loses that peer: no memory, no hang, nobody else."""
    hub, _ = _end("hub", max_waiting_bytes=max_waiting_bytes)
    for parcel in parcels:
        hub.accept(parcel)
    assert hub.receive("north", "one")
    with pytest.raises(ChannelTimeoutError):
        hub.receive("north", "one")


def test_parcels_that_come_twice_count_once() -> None:
    hub, _ = _end("hub")
    for _ in range(2):
        hub.accept(_data(0, b"first"))
    hub.accept(_data(1, b"second"))
    assert [hub.receive("north", "one") for _ in range(2)] == [b"first", b"second"]


def test_words_of_an_end_need_no_receipt() -> None:
    hub, shelf = _end("hub")
    assert hub.finish() == ()
    assert {decode_parcel(parcel).receiver for _, parcel in shelf.take()} == {"north", "lake"}


def test_an_ended_role_has_settled_whatever_lies_for_peers_that_ended_before() -> None:
    """A last word to them may not be on its way yet; nobody waits for it."""
    gate = threading.Event()

    class Slow(_Shelf):
        def deliver(self, to: str, parcel: bytes, timeout_s: float) -> bytes:
            if to == "north":
                gate.wait(LIMIT_S)
            return super().deliver(to, parcel, timeout_s)

    hub = MailboxChannel("hub", ROLES, Slow(), run_id="run-1", timeout_s=LIMIT_S, stores_parcels=True)
    word = Item(0, FINISHED, "hekat/control", write_notice(None))
    hub.accept(Parcel("run-1", "north", "hub", b"n" * 16, [word]).encode())
    try:
        assert hub.finish() == ()
        assert hub.wait_until_settled(lambda: True, 0.01)
    finally:
        gate.set()
