"""The contract of `Channel` over mailboxes: matching, order, time-outs, bounded memory."""

from __future__ import annotations

import math
import threading

import pytest
from tests.channel.mailbox.fake_relay import FakeRelay

from hekat.channel import Channel
from hekat.channel.mailbox.parcel import Parcel
from hekat.errors import ChannelError, ChannelTimeoutError, InputError, PolicyError, WireError

ABC = ("a", "b", "c")


def test_a_mailbox_is_a_channel_and_knows_its_parties() -> None:
    channel = FakeRelay().add("a", ABC)
    assert isinstance(channel, Channel)
    assert (channel.party, channel.parties) == ("a", ABC)


def test_messages_are_matched_by_sender_and_step_and_kept_until_asked_for() -> None:
    a, b, c = FakeRelay().add_all(ABC)
    a.send("b", "first", b"a1")
    a.send("b", "second", b"a2")
    c.send("b", "second", b"c2")
    assert b.receive("c", "second") == b"c2"
    assert b.receive("a", "second") == b"a2"
    assert b.receive("a", "first") == b"a1"


@pytest.mark.parametrize("payload", [b"", b"\0", bytes(5 << 20)])
def test_any_bytes_pass(payload: bytes) -> None:
    a, b, _ = FakeRelay().add_all(ABC)
    a.send("b", "step", payload)
    assert b.receive("a", "step") == payload


def test_messages_of_one_step_keep_their_order() -> None:
    a, b, _ = FakeRelay().add_all(ABC)
    for index in range(200):
        a.send("b", "step", bytes([index]))
    assert [b.receive("a", "step") for _ in range(200)] == [bytes([index]) for index in range(200)]


def test_a_time_out_names_the_awaited_party_and_step() -> None:
    a, _, _ = FakeRelay().add_all(ABC)
    with pytest.raises(ChannelTimeoutError, match=r"'a' got nothing from 'b' in step 'update 3'.*within 0\.01 s"):
        a.receive("b", "update 3", timeout_s=0.01)


@pytest.mark.parametrize("peer", ["a", "nobody", ""])
def test_unknown_peers_are_refused_with_the_known_ones(peer: str) -> None:
    a = FakeRelay().add("a", ABC)
    with pytest.raises(InputError, match="one of: b, c"):
        a.send(peer, "step", b"")
    with pytest.raises(InputError, match="one of: b, c"):
        a.receive(peer, "step")


def test_malformed_arguments_are_refused() -> None:
    a = FakeRelay().add("a", ABC)
    with pytest.raises(InputError, match="step name"):
        a.send("b", "line\nbreak", b"")
    with pytest.raises(InputError, match="bytes"):
        a.send("b", "step", bytearray(3))  # type: ignore[arg-type]
    with pytest.raises(InputError, match="time-out"):
        a.receive("b", "step", timeout_s=math.nan)
    with pytest.raises(InputError, match="max_waiting_bytes"):
        FakeRelay().add("a", ABC, max_waiting_bytes=0)
    with pytest.raises(InputError, match="one of: a, b, c"):
        FakeRelay().add("d", ABC)


def test_a_sender_waits_for_room_and_goes_on_once_there_is_some() -> None:
    relay = FakeRelay()
    a, b = relay.add_all(("a", "b"), max_waiting_bytes=8, timeout_s=20.0)
    payloads = [bytes([index]) * (index % 9) for index in range(100)]
    sender = threading.Thread(target=lambda: [a.send("b", "s", payload) for payload in payloads])
    sender.start()
    assert [b.receive("a", "s") for _ in payloads] == payloads
    sender.join()


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
            assert sum(waiting_bytes) <= 60 * len(parties) + 100


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
