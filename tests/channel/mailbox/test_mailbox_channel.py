"""Mailboxes beside the rules of every channel: memory over all peers, roles that meet, one process a role."""

from __future__ import annotations

import math
import threading

import pytest
from tests.channel.mailbox.fake_relay import LIMIT_S, FakeRelay

from hekat.channel import PartyKey
from hekat.channel.dropout_notice import sign_dropout
from hekat.channel.mailbox.pair import MESSAGE_BYTES
from hekat.channel.mailbox.parcel import Parcel
from hekat.errors import ChannelError, ChannelTimeoutError, PartyLostError, PartyStoppedError, PolicyError, WireError

ABC = ("a", "b", "c")


def test_a_call_may_give_its_wait_for_room_a_time_of_its_own() -> None:
    relay = FakeRelay()
    a, _ = relay.add_all(("a", "b"), max_waiting_bytes=10, timeout_s=3600.0)
    relay.cut.add("b")
    a.send("b", "first", bytes(10))
    with pytest.raises(ChannelTimeoutError, match=r"within 0.001 s"):
        a.send("b", "next", b"3", timeout_s=1e-3)


def test_a_sender_to_a_peer_that_reads_nothing_is_told_in_its_time() -> None:
    a, _ = FakeRelay().add_all(("a", "b"), max_waiting_bytes=10, timeout_s=0.05)
    a.send("b", "large", bytes(100))  # alone: may be larger than the bound
    a.send("b", "next", bytes(100))
    with pytest.raises(ChannelTimeoutError, match=r"no room at 'b'.*'third'"):
        a.send("b", "third", b"1")


def test_memory_is_bounded_over_all_peers_and_each_may_have_one_message() -> None:
    relay = FakeRelay()
    roles = ("hub", *ABC)
    hub = relay.add("hub", roles, max_waiting_bytes=100)
    parties = [relay.add(name, roles) for name in ABC]
    for party in parties:
        for index in range(3):
            party.send("hub", f"block {index}", bytes(60))
    for party in reversed(parties):
        for index in range(3):
            assert hub.receive(party.party, f"block {index}") == bytes(60)
            waiting_bytes = [box.waiting_bytes for box in hub._inboxes.values()]
            assert sum(waiting_bytes) <= (60 + MESSAGE_BYTES) * len(parties) + 100


@pytest.mark.parametrize("count", [2, 200])
def test_a_word_of_who_is_given_up_on_passes_messages_that_find_no_room(count: int) -> None:
    """c waits for b, and so reads nothing of what a sent it before; a gives up on b."""
    a, b, c = FakeRelay().add_all(ABC, may_be_lost="b", timeout_s=math.inf)
    c._max_waiting_bytes = 1
    for index in range(count):
        a.send("c", f"block {index}", b"")
    a.expel("b", "too late", sign_dropout(PartyKey.generate(), bytes(32), "a", "b", "too late"))
    with pytest.raises(PartyLostError, match="'b' was lost"):
        c.receive("b", "share", timeout_s=LIMIT_S)
    assert [c.receive("a", f"block {index}") for index in range(count)] == [b""] * count
    with pytest.raises(PartyStoppedError, match="too late"):
        b.receive("a", "sum")


def test_a_step_that_cannot_get_past_the_waiting_ones_is_an_error_at_once() -> None:
    a, b = FakeRelay().add_all(("a", "b"), max_waiting_bytes=1)
    a.send("b", "one", b"1")
    a.send("b", "two", b"2")
    with pytest.raises(ChannelError, match=r"'two' of 'a', which can never come.*unread from 'a': 'one'"):
        b.receive("a", "two")


def test_roles_meet_and_see_what_each_shows() -> None:
    mailboxes = FakeRelay().add_all(ABC)
    found = {}
    threads = [
        threading.Thread(target=lambda end=end: found.update({end.party: end.meet(end.party.encode())}))
        for end in mailboxes
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == {name: {peer: peer.encode() for peer in ABC if peer != name} for name in ABC}


def test_a_role_that_never_comes_is_named() -> None:
    relay = FakeRelay()
    a = relay.add("a", ABC, first_contact_s=0.1)
    relay.add("b", ABC).send("a", "step", b"")
    with pytest.raises(ChannelTimeoutError, match="not every role came: no b and no c"):
        a.meet(b"card")


def test_a_second_process_of_a_role_is_refused_and_told_so() -> None:
    relay = FakeRelay()
    first, b = relay.add_all(("a", "b"))
    first.send("b", "step", b"of the first")
    assert b.receive("a", "step") == b"of the first"
    second = relay.add("a", ("a", "b"))
    second.send("b", "step", b"of the second")
    with pytest.raises(PolicyError, match="role 'a' is played already"):
        second.receive("b", "never")
    with pytest.raises(ChannelTimeoutError):
        b.receive("a", "step", timeout_s=0.01)


@pytest.mark.parametrize("changes", [{"run_id": "run-2"}, {"role": "b"}, {"role": "d"}])
def test_parcels_of_another_run_or_for_others_are_refused(changes: dict[str, str]) -> None:
    relay = FakeRelay()
    b = relay.add("b", ABC)
    words = {"run_id": "run-1", "sender": "a", "receiver": "b"}
    if "run_id" in changes:
        words["run_id"] = changes["run_id"]
    else:
        words["sender"] = changes["role"]
    with pytest.raises(WireError, match="another run or for another role"):
        b.accept(Parcel(instance=bytes(16), **words).encode())
