"""A role that deviates, or speaks in another's name: it takes no memory beyond the bound, and ends no other's run."""

from __future__ import annotations

import threading
from dataclasses import dataclass

import pytest
from tests.channel.mailbox.fake_relay import LIMIT_S, FakeRelay

from hekat.channel.mailbox import MailboxChannel
from hekat.channel.mailbox.parcel import (
    DATA,
    FINISHED,
    INSTANCE_BYTES,
    JOIN,
    MAX_ITEMS,
    MAX_WORD_BYTES,
    RECEIPT_FORMAT,
    Item,
    Parcel,
    Receipt,
    decode_receipt,
)
from hekat.channel.mailbox.refusals import OTHER_FORMAT, PLAYED_TWICE
from hekat.errors import ChannelError, ChannelTimeoutError, InputError, PartyLostError, PartyStoppedError, PolicyError

ROLES = ("hub", "b", "c")
PARTIES = ("b", "c")


def _flood(box: MailboxChannel, payload: bytes, step: str) -> int:
    """How many messages in b's name the mailbox took until it was busy."""
    first = 0
    while True:
        items = [Item(first + index, DATA, step, payload) for index in range(MAX_ITEMS)]
        receipt = decode_receipt(box.accept(Parcel("run-1", "b", box.party, bytes(16), items).encode()))
        first = receipt.next_sequence
        if receipt.busy:
            return first
        assert first < 1 << 14, "no end to it"


@pytest.mark.parametrize("size", [0, 1, 100])
def test_the_attack_many_small_messages_take_no_more_than_the_room(size: int) -> None:
    hub = FakeRelay().add("hub", ROLES, max_waiting_bytes=1 << 20)
    taken = _flood(hub, bytes(size), "s" * 256)
    assert taken * (size + 1024) <= 1 << 20
    assert len(hub._inboxes["b"].messages) == taken


def test_the_attack_numbers_with_gaps_are_not_kept() -> None:
    hub = FakeRelay().add("hub", ROLES)
    for number in range(10, 1000):
        parcel = Parcel("run-1", "b", "hub", bytes(16), [Item(number * number, DATA, "s", bytes(1000))])
        assert decode_receipt(hub.accept(parcel.encode())).next_sequence == 0
    assert not hub._inboxes["b"].messages


def test_the_attack_a_card_or_word_of_any_length_is_not_kept() -> None:
    hub = FakeRelay().add("hub", ROLES)
    items = [Item(0, JOIN, "s", bytes(MAX_WORD_BYTES + 1)), Item(1, FINISHED, "s", bytes(MAX_WORD_BYTES + 1))]
    hub.accept(Parcel("run-1", "b", "hub", bytes(16), items).encode())
    assert hub._cards == {}
    assert not hub._departures.is_gone("b")
    with pytest.raises(InputError, match="card is too long"):
        hub.meet(bytes(MAX_WORD_BYTES + 1))


def test_the_attack_one_that_was_given_up_on_fills_no_room_any_more() -> None:
    relay = FakeRelay()
    hub, b, c = relay.add_all(ROLES, PARTIES, max_waiting_bytes=1 << 20)
    b.send("hub", "first", b"")
    assert hub.receive("b", "first") == b""
    hub.expel("b", "too late")
    items = [Item(1 + index, DATA, "s", bytes(10_000)) for index in range(90)]
    assert not decode_receipt(hub.accept(Parcel("run-1", "b", "hub", b._instance, items).encode())).busy
    assert not hub._inboxes["b"].messages
    for index in range(3):
        c.send("hub", f"block {index}", bytes(300_000))
    assert [len(hub.receive("c", f"block {index}")) for index in range(3)] == [300_000] * 3


# --- receipts ------------------------------------------------------------------------------------------------


@dataclass
class _LiesOfB:
    """The hub's way to the others; b answers every parcel by `receipt`."""

    relay: FakeRelay
    receipt: bytes

    def deliver(self, to: str, parcel: bytes, timeout_s: float) -> bytes:
        return self.receipt if to == "b" else self.relay.deliver("hub", to, parcel)


def _hub_with_lies(receipt: bytes) -> tuple[MailboxChannel, MailboxChannel]:
    """The hub, and c, which is honest."""
    relay = FakeRelay()
    _, _, c = relay.add_all(ROLES, PARTIES)
    settings = {"run_id": "run-1", "timeout_s": LIMIT_S, "lost_after_s": 0.2, "first_contact_s": 0.2}
    hub = MailboxChannel("hub", ROLES, _LiesOfB(relay, receipt), may_be_lost=PARTIES, **settings)
    relay.mailboxes["hub"] = hub
    relay.made.append(hub)
    return hub, c


@pytest.mark.parametrize("refusal", [PLAYED_TWICE, OTHER_FORMAT, "because"])
def test_the_attack_one_party_says_that_another_process_plays_the_aggregator(refusal: str) -> None:
    """It is as a party out of reach, and the others go on."""
    hub, c = _hub_with_lies(Receipt(bytes(INSTANCE_BYTES), refusal=refusal).encode())
    hub.send("b", "begin", b"1")
    with pytest.raises(ChannelTimeoutError, match="nothing delivered to 'b'"):
        hub.receive("b", "update")
    hub.expel("b", "too late")
    hub.send("c", "begin", b"1")
    assert c.receive("hub", "begin") == b"1"


@pytest.mark.parametrize(
    "receipt",
    [b"", b"\xc1", bytes(1 << 13), Receipt(bytes(16), 1 << 61).encode(), Receipt(bytes(16), 0, True).encode()],
    ids=["none", "no MessagePack", "long", "of what was never sent", "always busy"],
)
def test_the_attack_a_party_answers_by_false_receipts(receipt: bytes) -> None:
    hub, c = _hub_with_lies(receipt)
    for index in range(3):
        hub.send("b", f"step {index}", b"1")
        hub.send("c", f"step {index}", b"1")
    assert [c.receive("hub", f"step {index}") for index in range(3)] == [b"1"] * 3
    with pytest.raises((ChannelTimeoutError, PartyLostError)):
        hub.receive("b", "answer", timeout_s=0.3)


def test_a_role_that_one_who_may_not_be_lost_refuses_ends_and_so_does_one_that_all_refuse() -> None:
    for refusing, role in ((("hub",), "b"), (PARTIES, "hub")):
        relay = FakeRelay()
        relay.add_all(ROLES, PARTIES)
        for peer in refusing:
            relay.mailboxes[role].send(peer, "first", b"")
            relay.mailboxes[peer].receive(role, "first")
        again = relay.add(role, ROLES, may_be_lost=PARTIES)
        for peer in refusing:
            again.send(peer, "again", b"")
        with pytest.raises(PolicyError, match=f"role '{role}' is played already"):
            again.receive(refusing[0], "never")


# --- releases ------------------------------------------------------------------------------------------------


def test_roles_of_two_releases_are_told_so_and_not_only_that_nobody_comes(monkeypatch) -> None:
    """Parcels of format 2 meet a role of format 1: its receipts are of one format for ever."""
    assert RECEIPT_FORMAT == 1
    relay = FakeRelay()
    hub, b, _ = relay.add_all(ROLES, PARTIES)
    relay.change = lambda sender, to, parcel: parcel.replace(b"\x96\x01", b"\x96\x02", 1) if sender == "b" else parcel
    b.send("hub", "update", b"1")
    with pytest.raises(PolicyError, match=r"'b' is played by another release of Hekat.*at hub.*one release of Hekat"):
        b.receive("hub", "sum")
    assert not hub._inboxes["b"].messages


def test_who_refused_is_told_also_where_another_role_gave_up_first() -> None:
    """The hub's end says nothing of why nobody came; this role has heard so itself."""
    relay = FakeRelay()
    hub, b, _ = relay.add_all(ROLES, PARTIES)
    b._refusals.note("c", OTHER_FORMAT)
    hub.fail(ChannelTimeoutError("not every role came"))
    with pytest.raises(PartyStoppedError, match=r"'hub' stopped.*c: another release plays here"):
        b.meet(b"card")


# --- ends ----------------------------------------------------------------------------------------------------


def test_an_end_from_outside_wakes_the_role_and_a_second_end_says_nothing() -> None:
    relay = FakeRelay()
    a, _ = relay.add_all(("a", "b"))
    relay.cut.add("b")
    found: list[BaseException] = []

    def wait() -> None:
        try:
            a.receive("b", "never")
        except ChannelError as error:
            found.append(error)

    thread = threading.Thread(target=wait, daemon=True)
    thread.start()
    a._lost_after_s = 0.1
    assert a.fail(RuntimeError("the engine ended the job")) == ("b",)
    thread.join(LIMIT_S)
    assert "end of 'a' is closed" in str(found[0]) or isinstance(found[0], ChannelTimeoutError)
    # Nothing is delivered any more, so there is nothing to wait for.
    a._lost_after_s = 10 * LIMIT_S
    assert a.fail(found[0]) == ("b",)
    assert len(a._outboxes["b"].items) == 1
